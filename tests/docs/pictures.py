"""Pictures of every page, in `artefacts/`, and those of the documentation, in light and in dark.

Run by hand, by `make pictures`.
"""

import base64
import shutil
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.browser import SCHEMES, set_scheme, set_screen, start_browser
from tests.support.gallery import NAMES, Gallery
from tests.support.sites import serving
from wsgiauth import storage
from wsgiauth.languages import SHIPPED

ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "artefacts"
WIDTHS, HEIGHT = (320, 1280), 900
# Pictures of the documentation: the page, its size in CSS pixels, and the device pixels in each of
# them; more than one, so that the text is sharp on most screens.
DOCS = {
    ROOT / "docs" / "pages.png": ("login", (600, 740), 1.5),
    ROOT / "docs" / "logins.png": ("sessions-several", (440, 820), 1),
    ROOT / "docs" / "staff.png": ("admin-user", (900, 900), 1),
}


# Pages that are also looked at in each language.
TRANSLATED = (
    "login",
    "register-refused",
    "account",
    "sessions-several",
    "second",
    "confirm-passkey",
    "recovery-codes-new",
    "keys",
    "admin-user-secured",
    "admin-events",
)


def main():
    ARTEFACTS.mkdir(exist_ok=True)
    with (
        TemporaryDirectory() as folder,
        serving(Gallery(folder)) as address,
        start_browser(shutil.which("chromium"), shutil.which("chromedriver")) as browser,
    ):
        for name, scheme, width in product(NAMES, SCHEMES, WIDTHS):
            _open(browser, f"{address}/{name}", scheme, (width, HEIGHT))
            picture = ARTEFACTS / f"{name}-{width}-{scheme}.png"
            picture.write_bytes(browser.get_screenshot_as_png())
        for path, (name, size, scale) in DOCS.items():
            path.write_bytes(_side_by_side(browser, f"{address}/{name}", size, scale))
        for language in (each for each in SHIPPED if each != "en"):
            _take_in(language, browser)
    print(f"{ARTEFACTS}: {len(list(ARTEFACTS.glob('*.png')))} pictures")
    for path in DOCS:
        print(f"{path}: {path.stat().st_size:,} bytes")


def _take_in(language, browser):
    """Take pictures in a language."""
    with TemporaryDirectory() as folder, serving(Gallery(folder, language)) as address:
        for name, scheme, width in product(TRANSLATED, SCHEMES, WIDTHS):
            _open(browser, f"{address}/{name}", scheme, (width, HEIGHT))
            picture = ARTEFACTS / f"{language}-{name}-{width}-{scheme}.png"
            picture.write_bytes(browser.get_screenshot_as_png())
        storage.discard_connection(storage.current())


def _open(browser, url, scheme, size, scale=1):
    set_screen(browser, *size, scale)
    set_scheme(browser, scheme)
    browser.get(url)


def _side_by_side(browser, url, size, scale):
    """Return one PNG of a page in both schemes."""
    photographs = []
    for scheme in SCHEMES:
        _open(browser, url, scheme, size, scale)
        # Without the caret, which may or may not be visible at that moment.
        browser.execute_script("document.activeElement.blur()")
        photographs.append(browser.get_screenshot_as_base64())
    width, height = size
    images = "".join(
        f'<img src="data:image/png;base64,{each}" width="{width}">' for each in photographs
    )
    page = f'<!doctype html><body style="margin: 0; display: flex">{images}'
    set_screen(browser, width * len(photographs), height, scale)
    browser.get(f"data:text/html;base64,{base64.b64encode(page.encode()).decode()}")
    return browser.get_screenshot_as_png()


if __name__ == "__main__":
    main()
