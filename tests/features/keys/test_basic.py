"""Basic authentication: an API key as the password of its owner's name, and never a password."""

import time
from base64 import b64encode
from dataclasses import replace
from functools import partial

import bcrypt
import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, login_required, storage
from wsgiauth.features.keys import api_keys
from wsgiauth.features.keys.basic import read

CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
BASIC = 'Basic realm="wsgiauth", charset="UTF-8"'
BEARER = 'Bearer realm="wsgiauth"'


@pytest.fixture
def settings(settings):
    """Return the settings with Basic authentication."""
    return replace(settings, BASIC_AUTH="keys")


@pytest.fixture
def key(ada):
    """Return an API key of Ada's."""
    ada.grant("reports.read")
    return api_keys.create(ada, "pip", ["reports.read"], now=time.time())


def basic(name, password):
    """Return the header of a name and a password."""
    return {"Authorization": f"Basic {b64encode(f'{name}:{password}'.encode()).decode()}"}


def caller(client, *headers, method="GET"):
    """Return what the wrapped app sees: the user, the id of the key, and the error."""
    given = {name: value for each in headers for name, value in each.items()}
    seen = client.request("/", method=method, headers=given).json
    return seen["user"], seen["key"], seen["error"]


REJECTED = (None, None, "invalid_token")
ANONYMOUS = (None, None, None)


@pytest.mark.promise(59)
def test_a_key_is_the_password_of_its_owner_s_names_in_any_letter_case(client, key, grace):
    names = [USERNAME, USERNAME.upper(), EMAIL, EMAIL.upper()]
    found = {name: caller(client, basic(name, key.text)) for name in names}
    assert found == dict.fromkeys(names, (USERNAME, key.row.id, None))
    others = ["", "Grace", "Ad", f"{USERNAME} ", f"{USERNAME}\0", "__token__"]
    found = {name: caller(client, basic(name, key.text)) for name in others}
    assert found == dict.fromkeys(others, REJECTED)


@pytest.mark.promise(59)
def test_a_username_can_have_colons(client, ada):
    key = api_keys.create(ada, "pip", [], now=time.time())
    for name in ("ada:lovelace", ":ada", "ada:", "a:d:a"):
        ada.username = name
        ada.save()
        assert caller(client, basic(name, key.text)) == (name, key.row.id, None)
        assert caller(client, basic(name.replace(":", ""), key.text)) == REJECTED


def test_the_key_has_its_permissions_alone(client, key, ada):
    ada.is_superuser = True
    ada.save()
    answer = client.get("/auth/me", headers=basic(USERNAME, key.text))
    assert (answer.json["permissions"], answer.json["is_superuser"]) == (["reports.read"], False)


@pytest.mark.promise(59)
def test_another_password_costs_neither_a_hash_nor_a_query(
    client, key, queries, monkeypatch, bearer, ada
):
    monkeypatch.setattr(bcrypt, "checkpw", lambda *_: pytest.fail("a hash was computed"))
    for password in (PASSWORD, "", "wsgiauth_", f"wsgiauth_{'a' * 62}", "x.y.z"):
        assert queries(partial(caller, client, basic(USERNAME, password))) == [], password
        assert caller(client, basic(USERNAME, password)) == REJECTED, password
    token = bearer(ada)["Authorization"].removeprefix("Bearer ")
    assert caller(client, basic(USERNAME, token)) == REJECTED


@pytest.mark.promise(59)
def test_the_key_costs_one_query_and_a_revoked_one_is_refused(client, key, queries):
    caller(client, basic(USERNAME, key.text))  # also writes when it was used
    assert len(queries(lambda: caller(client, basic(USERNAME, key.text)))) == 1
    key.row.delete_instance()
    assert caller(client, basic(USERNAME, key.text)) == REJECTED


def test_the_credentials_are_read():
    expected = {
        "QTpi": ("A", "b"),
        "QTpiOmM=": ("A:b", "c"),  # a colon in the name
        "w6Q6Yg==": ("ä", "b"),
        "5Dpi": ("", ""),  # Latin-1
        "QQ==": ("A", ""),  # no colon
        "QTp": ("", ""),
        "QT pi": ("", ""),
        "é": ("", ""),
        "QTpi" * 1000: ("", ""),
        "": ("", ""),
    }
    assert {encoded: read(encoded) for encoded in expected} == expected


def test_the_scheme_is_read_in_any_letter_case(client, key):
    _, encoded = basic(USERNAME, key.text)["Authorization"].split()
    expected = {
        "bAsIc \t {} ": (USERNAME, key.row.id, None),
        "Basic,{}": ANONYMOUS,
        "Digest {}": ANONYMOUS,
    }
    found = {
        spelling: caller(client, {"Authorization": spelling.format(encoded)})
        for spelling in expected
    }
    assert found == expected


def test_the_repr_of_credentials_has_neither_the_name_nor_the_key():
    assert repr(read("a2V5OmtleQ==")) == "<Credentials>"


# The cookie, and other sites


def test_a_known_scheme_goes_before_the_cookie(client, key, grace, bearer):
    token = bearer(grace)["Authorization"].removeprefix("Bearer ")
    cookie = {"Cookie": f"wsgiauth={token}"}
    assert caller(client, cookie) == ("Grace", None, None)
    digest = {"Authorization": 'Digest username="Ada"'}
    assert caller(client, cookie, digest) == ("Grace", None, None)
    assert caller(client, cookie, {"Authorization": "Basic ?"}) == REJECTED
    assert caller(client, cookie, basic(USERNAME, key.text)) == (USERNAME, key.row.id, None)


@pytest.mark.promise(59)
def test_a_key_that_a_browser_repeats_counts_as_the_cookie_does(client, key):
    def seen(method, headers):
        return caller(client, basic(USERNAME, key.text), headers, method=method)

    accepted = (USERNAME, key.row.id, None)
    assert seen("POST", CROSS_SITE) == ANONYMOUS
    assert seen("GET", {**CROSS_SITE, "Upgrade": "websocket"}) == ANONYMOUS
    assert seen("GET", CROSS_SITE) == accepted  # a link
    assert seen("POST", SAME_ORIGIN) == accepted
    assert seen("POST", {}) == accepted


# Challenges


def challenges(answer):
    """Return the values of WWW-Authenticate, in their order."""
    return answer.headers.getall("WWW-Authenticate")


def refusing(environ, start_response):
    """Answer 401, as a framework does."""
    start_response("401 Unauthorized", [("Content-Type", "text/plain")])
    return [b""]


@pytest.fixture
def make_client(settings):
    """Return a function that returns a client of a site."""
    made = []

    def make(app, basic="keys", **arguments):
        site = AuthMiddleware(app, replace(settings, BASIC_AUTH=basic), **arguments)
        made.append(site)
        return TestApp(site)

    yield make
    for site in made:
        storage.discard_connection(site.database)


def test_a_program_is_asked_for_basic_first(make_client):
    asking = {
        "a guard": (make_client(login_required(redirect_url="/auth/login")(echo)), "/"),
        "challenge": (make_client(refusing, challenge=True), "/"),
        "public": (make_client(echo, public=()), "/"),
        "/auth/me": (make_client(echo), "/auth/me"),
    }
    found = {name: challenges(each.get(path, status=401)) for name, (each, path) in asking.items()}
    assert found == {name: [BASIC, BEARER] for name in asking}


def test_only_a_request_that_no_page_can_send_is_asked_for_basic(make_client):
    client = make_client(login_required(echo))

    def asked(method, mode):
        headers = {"Sec-Fetch-Mode": mode}
        return challenges(client.request("/", method=method, headers=headers, status=401))

    modes = ["navigate", "cors", "no-cors", "same-origin", "websocket"]
    assert {mode: asked("GET", mode) for mode in modes} == {mode: [BEARER] for mode in modes}
    assert asked("PUT", "no-cors") == [BASIC, BEARER]  # Thunderbird
    assert asked("PUT", "cors") == [BEARER]
    assert asked("PUT", "same-origin") == [BEARER]
    assert asked("POST", "no-cors") == [BEARER]  # a form


def test_a_script_that_no_mode_tells_from_a_program_is_not_asked_for_basic(make_client):
    client = make_client(login_required(redirect_url="/auth/login")(echo))
    headers = {**BROWSER, "X-Requested-With": "XMLHttpRequest"}  # over plain http
    assert challenges(client.get("/", headers=headers, status=401)) == [BEARER]
    assert client.get("/", headers=BROWSER).status_code == 302  # as before


def test_a_rejected_key_is_reported_to_both(make_client):
    answer = make_client(login_required(echo)).get("/", headers=basic(USERNAME, "x"), status=401)
    assert challenges(answer) == [BASIC, f'{BEARER}, error="invalid_token"']


def test_what_takes_no_key_does_not_ask_for_basic(client):
    answer = client.get("/auth/keys", headers={"Accept": "application/json"}, status=401)
    assert challenges(answer) == [BEARER]


# Switched off


@pytest.mark.promise(59)
def test_switched_off_the_header_is_ignored(make_client, key, bearer, ada):
    client = make_client(echo, basic="off")
    token = bearer(ada)["Authorization"].removeprefix("Bearer ")
    assert caller(client, basic(USERNAME, key.text)) == ANONYMOUS
    assert caller(client, basic(USERNAME, "x"), {"Cookie": f"wsgiauth={token}"})[0] == USERNAME
    assert challenges(client.get("/auth/me", status=401)) == [BEARER]
