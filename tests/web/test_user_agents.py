"""Browsers and systems in words."""

import pytest

from wsgiauth.web.user_agents import user_agent_in_words

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (f"{WINDOWS[:-1]}; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"),
        (f"{WINDOWS} {WEBKIT} Chrome/140.0.0.0 Safari/537.36", "Chrome on Windows"),
        (f"{WINDOWS} {WEBKIT} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge on Windows"),
        (f"{WINDOWS} {WEBKIT} Chrome/140.0.0.0 Safari/537.36 OPR/120.0.0.0", "Opera on Windows"),
        (f"{MAC} AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15", "Safari on macOS"),
        (f"{MAC} {WEBKIT} Chrome/140.0.0.0 Safari/537.36", "Chrome on macOS"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15"
            " (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        (
            "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/140 Mobile",
            "Chrome on iPad",
        ),
        (f"Mozilla/5.0 (Linux; Android 15; K) {WEBKIT} Chrome/140.0.0.0", "Chrome on Android"),
        (
            f"Mozilla/5.0 (Linux; Android 14; SAMSUNG) {WEBKIT} SamsungBrowser/28.0 Chrome/130.0",
            "Samsung Internet on Android",
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
        ),
        (f"Mozilla/5.0 (X11; CrOS x86_64 14541) {WEBKIT} Chrome/140.0.0.0", "Chrome on ChromeOS"),
        ("curl/8.5.0", "curl"),
        ("python-requests/2.32.3", "Python"),
        ("python-httpx/0.28.1", "Python"),
        ("Mozilla/5.0 (Windows NT 10.0)", "Unknown browser on Windows"),
        ("<script>alert(1)</script>", "Unknown browser"),
        ("", "Unknown browser"),
    ],
)
def test_a_user_agent_has_the_words_that_its_owner_knows(header, words):
    assert user_agent_in_words(header) == words
