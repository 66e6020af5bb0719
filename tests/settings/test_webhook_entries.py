"""WEBHOOKS and WEBHOOK_KEY: which values are accepted, and what an operator is told."""

from base64 import b64encode

import pytest

from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.webhook_entries import entries_of

URL = "https://billing.example/hook"
KEY = "whsec_" + b64encode(bytes(range(32))).decode()


def settings(**values):
    return Settings.from_mapping({"WEBHOOKS": URL, "WEBHOOK_KEY": KEY, **values})


@pytest.mark.parametrize(
    "url",
    [
        URL,
        f"{URL}?token=t%2F1",
        "http://localhost:9000/",
        "https://[2001:db8::1]:8443/a",
        "http://a",
    ],
)
def test_an_http_url_is_accepted(url):
    assert (url,) == settings(WEBHOOKS=url).WEBHOOKS


@pytest.mark.parametrize(
    "text",
    [
        *("billing.example/hook", "ftp://billing.example/", "https:///hook", "HTTPS://a.example/"),
        *("https://ada:secret@billing.example/", "https://a.example:0/", "https://a.example:x/"),
        *("https://[::1/", f"{URL}#", f"{URL}#Login", f"{URL}#login,", f"{URL}#log in"),
        *(f"{URL}/{'x' * 2000}", "https://ä.example/"),
    ],
)
def test_another_url_is_refused_without_being_shown(text):
    with pytest.raises(ConfigurationError, match=r"^WEBHOOKS must be a list of http") as refused:
        settings(WEBHOOKS=text)
    assert "ada" not in str(refused.value)


def test_a_url_has_the_events_after_it():
    one, other = entries_of(settings(WEBHOOKS=f"{URL}#login,logout https://all.example/").WEBHOOKS)
    assert (one.url, one.events) == (URL, {"login", "logout"})
    assert other.events is None
    assert repr(one) == "<Entry billing.example>"


def test_a_url_can_stand_only_once():
    with pytest.raises(ConfigurationError, match="each at most once"):
        settings(WEBHOOKS=f"{URL}#login {URL}#logout")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://billing.example:8080/hook?token=1#login", "billing.example:8080"),
        ("http://192.168.0.7/", "192.168.0.7"),
        ("http://LOCALHOST/", None),
        ("http://127.0.0.1:9000/hook", None),
        ("http://[::1]/", None),
        (URL, None),
    ],
)
def test_http_is_a_risk_but_for_this_computer(url, host):
    risks = [each for each in settings(WEBHOOKS=url).risks() if each.startswith("WEBHOOKS")]
    sentence = "WEBHOOKS has http URLs, whose content others on the network can read"
    assert risks == ([] if host is None else [f"{sentence}: {host}."])


@pytest.mark.parametrize(
    "key",
    [
        *("", "whsec_", KEY.removeprefix("whsec_"), "whsec_" + b64encode(bytes(23)).decode()),
        *("whsec_" + b64encode(bytes(65)).decode(), f"{KEY}!", f"{KEY[:-1]}", "whsec_ä"),
        f"{KEY} {KEY} {KEY}",
    ],
)
def test_a_key_is_one_or_two_of_24_to_64_bytes(key):
    with pytest.raises(ConfigurationError, match=r"^WEBHOOK_KEY must be ") as refused:
        settings(WEBHOOK_KEY=key)
    assert KEY not in str(refused.value)


def test_two_keys_are_accepted_and_not_shown():
    found = settings(WEBHOOK_KEY=f"{KEY} {KEY}")
    assert found.WEBHOOK_KEY == (KEY, KEY)
    assert KEY not in repr(found)
    assert "billing" not in repr(found)


def test_a_key_without_urls_is_fine():
    assert Settings.from_mapping({"WEBHOOK_KEY": KEY}).WEBHOOKS == ()
