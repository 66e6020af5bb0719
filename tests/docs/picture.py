"""The README's picture: the login page in light and in dark, photographed in Chromium.

Run by hand, by `make pictures`; it serves the real page with waitress.
"""

import base64
import shutil
from pathlib import Path

from selenium import webdriver

from tests.support.sites import SECRET_KEY, serving
from wsgiauth import AuthMiddleware, Settings

PICTURE = Path(__file__).parents[2] / "docs" / "pages.png"
SCHEMES = ("light", "dark")
WIDTH, HEIGHT = 600, 560  # CSS pixels of one page
SCALE = 1.5  # device pixels for each CSS pixel, so that the text is sharp on most screens


def main():
    settings = Settings(
        SECRET_KEY=SECRET_KEY, DATABASE_URL="sqlite:///:memory:", SITE_NAME="Riverside Library"
    )
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    with (
        serving(AuthMiddleware(_no_pages, settings)) as address,
        webdriver.Chrome(options, service) as chrome,
    ):
        photographs = [_photograph(chrome, f"{address}/auth/login", each) for each in SCHEMES]
        PICTURE.write_bytes(_side_by_side(chrome, photographs))
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


def _no_pages(environ, start_response):
    start_response("404 Not Found", [("Content-Type", "text/plain")])
    return [b""]


def _photograph(chrome, url, scheme):
    """Return the page in a colour scheme, as a data URL."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    _set_size(chrome, WIDTH)
    chrome.get(url)
    # Without the caret, which may or may not be visible at that moment.
    chrome.execute_script("document.activeElement.blur()")
    return f"data:image/png;base64,{_capture(chrome)}"


def _side_by_side(chrome, photographs):
    """Return one PNG of several photographs."""
    _set_size(chrome, WIDTH * len(photographs))
    images = "".join(
        f'<img src="{each}" width="{WIDTH}" height="{HEIGHT}">' for each in photographs
    )
    page = f'<!doctype html><body style="margin: 0; display: flex">{images}'
    chrome.get(f"data:text/html;base64,{base64.b64encode(page.encode()).decode()}")
    return base64.b64decode(_capture(chrome))


def _set_size(chrome, width):
    size = {"width": width, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def _capture(chrome):
    return chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]


if __name__ == "__main__":
    main()
