"""QR codes as inline SVG, if the extra `totp` is installed."""

from markupsafe import Markup


def qr_code(text: str) -> Markup | None:
    """Return the QR code of `text` as SVG, or None without segno.

    It has no style, which the Content-Security-Policy of pages would refuse. `text` itself is not
    part of it, only black squares.
    """
    try:
        import segno
    except ImportError:
        return None
    code = segno.make_qr(text)
    svg = code.svg_inline(scale=5, border=4, light="#fff", svgclass=None, lineclass=None)
    return Markup(svg)  # noqa: S704 - see above
