"""The HTML of an email, made from its plain text.

So one template has both, and the HTML says nothing that the text does not say. `mail/layout.html`
is the frame of all emails. It loads nothing from elsewhere but the logo of the site.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from wsgiauth.languages.language import Language
from wsgiauth.messages import Message, _
from wsgiauth.settings import Settings
from wsgiauth.settings.checks import is_svg
from wsgiauth.settings.features import template_folders
from wsgiauth.web import brand
from wsgiauth.web.colours import Colour
from wsgiauth.web.templates import Templates

_LAYOUT = "mail/layout.html"
_URL = re.compile(r"https?://[^\s<>\"]+[^\s<>\".,:;!?)]|mailto:[^\s<>\"]+")
_CODE = re.compile(r"[0-9]{4} [0-9]{4}")
_DASH = "- "
# A few words, a colon (a full-width one in Chinese and Japanese), and a value.
_FACT = re.compile(r"(?P<label>[^:\uff1a.]{1,40}(?::(?=\s)|\uff1a)) ?(?P<value>.+)")


class Piece(NamedTuple):
    """A part of a line."""

    text: str
    url: str = ""  # to which it leads


class Fact(NamedTuple):
    """A line such as `When: 9 March`."""

    label: str  # with the colon
    pieces: tuple[Piece, ...]


class Paragraph(NamedTuple):
    """Lines of the text without an empty one between them."""

    lines: tuple[tuple[Piece, ...], ...]
    button: str = ""  # the URL, if the paragraph is nothing else
    action: str = ""  # what the button does
    code: str = ""  # the code to type, if the paragraph is nothing else
    facts: tuple[Fact, ...] = ()  # the lines, if they are several, and each is a fact
    points: tuple[tuple[Piece, ...], ...] = ()  # the lines without the dash that begins each
    is_foot: bool = False  # says why the email was sent, or follows that


class Frame(NamedTuple):
    """What the HTML of an email adds to its text, and where the foot of the text begins."""

    actions: Mapping[str, str] = {}  # what a link does, by URL
    foot: str = ""  # the paragraph with which it begins


class Look(NamedTuple):
    """The brand of the site in its emails; colours are such as `#0b6868`."""

    name: str
    logo: str  # the URL of an image, or ""
    logo_dark: str  # for dark emails; "" without a `logo`
    accent: str
    accent_dark: str
    on_accent: str
    on_accent_dark: str


class Support(NamedTuple):
    """Where people get help: SUPPORT_URL, and what emails show of it; both can be empty."""

    url: str
    text: str  # an email address without `mailto:` and without its fields

    @classmethod
    def of(cls, settings: Settings) -> "Support":
        """Return the support of a site."""
        url = settings.SUPPORT_URL or ""
        if not url.startswith("mailto:"):
            return cls(url, url)
        return cls(url, unquote(url.removeprefix("mailto:").partition("?")[0]))


class HtmlLetters:
    """Makes the HTML of messages."""

    def __init__(self, settings: Settings, site_name: str, support: Support) -> None:
        self._support = support
        folders = template_folders(settings.FEATURES)
        self._templates = Templates(settings.TEMPLATES, folders, autoescape=True)
        colour = Colour.parse(settings.SITE_COLOR or brand.OWN_ACCENT)
        self._look = Look(
            name=site_name,
            logo=_image(settings, settings.SITE_LOGO_EMAIL or settings.SITE_LOGO),
            logo_dark=_image(settings, settings.SITE_LOGO_DARK),
            accent=str(brand.accent(colour, brand.LIGHT)),
            accent_dark=str(brand.accent(colour, brand.DARK)),
            on_accent=str(brand.LIGHT.on_accent),
            on_accent_dark=str(brand.DARK.on_accent),
        )

    def render(self, subject: str, text: str, language: Language, frame: Frame) -> str:
        """Return the HTML of an email."""
        values = self._values(subject, text, language, frame)
        return self._templates.render(_LAYOUT, language, **values)

    def check(self, subject: str, text: str, language: Language, frame: Frame) -> None:
        """Render an example, to find a mistake in the layout at the start."""
        self._templates.check(_LAYOUT, language, **self._values(subject, text, language, frame))

    def _values(
        self, subject: str, text: str, language: Language, frame: Frame
    ) -> dict[str, object]:
        paragraphs = tuple(paragraphs_of(text, self._support, frame))
        return {
            "subject": subject,
            "preheader": preheader_of(paragraphs),
            "paragraphs": paragraphs,
            "lang": language.name,
            "direction": language.direction,
            "site": self._look,
        }


def paragraphs_of(text: str, support: Support, frame: Frame) -> Iterator[Paragraph]:
    """Yield the paragraphs of a plain text; URLs become links, and the first alone a button.

    An email with a code has no other link: that would teach people to follow those of a false one.
    """
    blocks = re.split(r"\n\s*\n", text.strip())
    has_links = not any(map(_CODE.fullmatch, blocks))
    has_button = is_foot = False
    for block in blocks:
        is_foot = is_foot or block == frame.foot
        is_url = _URL.fullmatch(block) is not None
        lines = block.split("\n")
        pieces = tuple(
            tuple(_pieces(each, support) if has_links else [Piece(each)]) for each in lines
        )
        is_button, is_code = is_url and not has_button, _CODE.fullmatch(block) is not None
        has_button = has_button or is_button
        yield Paragraph(
            pieces,
            button=block if is_button else "",
            action=(frame.actions.get(block) or go_to(_host_of(block))) if is_button else "",
            code=block if is_code else "",
            facts=_facts(pieces),
            points=_points(pieces),
            is_foot=is_foot,
        )


def preheader_of(paragraphs: Sequence[Paragraph]) -> str:
    """Return what mail programs show beside the subject: the first paragraph, if it is a sentence.

    A code is not in it, because a locked telephone shows it, too.
    """
    first = paragraphs[0]
    if first.button or first.code:
        return ""
    text = " ".join("".join(piece.text for piece in line) for line in first.lines)
    return text.rstrip(":\uff1a \u202f\xa0")


def go_to(name: str) -> Message:
    """Return the text of a button to a site."""
    return _("Go to %(site)s", site=name)


def _host_of(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc or parts.path  # of mailto:


def _facts(lines: tuple[tuple[Piece, ...], ...]) -> tuple[Fact, ...]:
    """Return several lines as facts; empty if one of them is none."""
    if len(lines) < 2:  # a sentence can have a colon, too
        return ()
    facts = []
    for line in lines:
        found = _FACT.fullmatch(line[0].text) if line else None
        if found is None:
            return ()
        facts.append(Fact(found["label"], (Piece(found["value"]), *line[1:])))
    return tuple(facts)


def _points(lines: tuple[tuple[Piece, ...], ...]) -> tuple[tuple[Piece, ...], ...]:
    """Return the lines of a list without their dashes; empty if one of them has none."""
    if not all(line and line[0].text.startswith(_DASH) for line in lines):
        return ()
    return tuple((Piece(line[0].text.removeprefix(_DASH)), *line[1:]) for line in lines)


def _pieces(line: str, support: Support) -> Iterator[Piece]:
    end = 0
    pattern = rf"{_URL.pattern}|(?<!\S){re.escape(support.text)}(?!\S)" if support.text else _URL
    for found in re.finditer(pattern, line):
        if found.start() > end:
            yield Piece(line[end : found.start()])
        yield Piece(found[0], support.url if found[0] == support.text else found[0])
        end = found.end()
    if end < len(line):
        yield Piece(line[end:])


def _image(settings: Settings, logo: str | None) -> str:
    """Return the URL of a logo, which can be a path as in links of the site's pages.

    Without a host, or as SVG, few mail programs show it: then the name is there instead.
    """
    if logo is None or is_svg(logo) or settings.PUBLIC_URL is None:
        return ""
    return urljoin(settings.PUBLIC_URL, logo)
