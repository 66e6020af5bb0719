"""Browsers and systems in words, from the User-Agent header (RFC 9110 section 10.1.5).

A client can send anything, so the words only help owners to recognise their own logins. Nothing of
the header itself is in them.
"""

import re

MAX_LENGTH = 255  # characters of the header that are kept

# In this order: a browser's header also names those that it is compatible with.
_BROWSERS = (
    ("Edge", r"\bEdg(?:e|A|iOS)?/"),
    ("Opera", r"\bOPR/|\bOpera\b"),
    ("Samsung Internet", r"\bSamsungBrowser/"),
    ("Firefox", r"\b(?:Firefox|FxiOS)/"),
    ("Chrome", r"\b(?:Chrome|CriOS|Chromium|HeadlessChrome)/"),
    ("Safari", r"\bVersion/[\d.]+ .*\bSafari/"),
    ("curl", r"^curl/"),
    ("Python", r"^python-(?:requests|httpx|urllib3)/|^Python-urllib/|\baiohttp/"),
)
_SYSTEMS = (
    ("Android", r"\bAndroid\b"),
    ("iPhone", r"\biPhone\b"),
    ("iPad", r"\biPad\b"),
    ("Windows", r"\bWindows NT\b"),
    ("macOS", r"\bMacintosh\b|\bMac OS X\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Linux", r"\bLinux\b|\bX11\b"),
)


def user_agent_in_words(header: str) -> str:
    """Return the usual name of a browser and its system, such as "Firefox on Windows".

    Args:
        header: The User-Agent, whole or cut after `MAX_LENGTH` characters.

    Returns:
        "Unknown browser" if the header names none that is known.
    """
    browser = _first(_BROWSERS, header) or "Unknown browser"
    system = _first(_SYSTEMS, header)
    return f"{browser} on {system}" if system else browser


def _first(table: tuple[tuple[str, str], ...], header: str) -> str | None:
    return next((name for name, pattern in table if re.search(pattern, header)), None)
