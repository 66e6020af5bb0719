"""Pictures of every page, in `artefacts/`, and those of the documentation, in light and in dark.

Run by hand, by `make pictures`.
"""

import base64
import os
import shutil
import sys
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.guide import follow, reading
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
    ROOT / "docs" / "pages.png": ("login", (600, 800), 1.5),
    ROOT / "docs" / "logins.png": ("sessions-several", (440, 820), 1),
    ROOT / "docs" / "staff.png": ("admin-user", (900, 900), 1),
}
# Pictures of the guide: where they are, and the sizes of a page in CSS pixels.
GUIDE = ROOT / "docs" / "guide"
GUIDE_WIDTH, GUIDE_MAX_HEIGHT = 560, 720

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
        _take_guide(browser)
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


def _take_guide(browser):
    """Follow the guide, and take the pictures of its pages in place of the former ones."""
    for picture in GUIDE.glob("*.webp"):
        picture.unlink()
    with TemporaryDirectory() as folder:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environ = {"PATH": path, "HOME": folder, "PYTHONUNBUFFERED": "1"}
        with reading(Path(folder, "board"), environ, partial(_photograph, browser)) as reader:
            follow(reader)
    size = sum(each.stat().st_size for each in GUIDE.iterdir())
    print(f"{GUIDE}: {size:,} bytes")


def _photograph(browser, name, url, cookies, typed):
    """Take the pictures of a page of the guide."""
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    for cookie, value in cookies.items():
        browser.execute_cdp_cmd("Network.setCookie", {"name": cookie, "value": value, "url": url})
    _open(browser, url, "light", (GUIDE_WIDTH, 200))
    for _ in range(2):  # margins of a page grow with the height of the screen
        height = browser.execute_script("return document.documentElement.scrollHeight")
        set_screen(browser, GUIDE_WIDTH, min(height, GUIDE_MAX_HEIGHT), 1.5)
    browser.execute_script(
        "for (const [name, value] of Object.entries(arguments[0])) {"
        "  const field = document.querySelector(`[name=${name}]`);"
        "  field.value = value;"
        "  field.form.scrollIntoView({ block: 'end' });"
        "}"
        "document.activeElement.blur()",
        typed,
    )
    for scheme in SCHEMES:
        set_scheme(browser, scheme)
        options = {"format": "webp", "quality": 65}
        picture = browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
        (GUIDE / f"{name}-{scheme}.webp").write_bytes(base64.b64decode(picture))


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
