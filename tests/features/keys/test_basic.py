"""Basic authentication: an API key as the password of its owner's name, and never a password."""

import time
from base64 import b64encode
from dataclasses import replace

import bcrypt
import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, login_required, storage
from wsgiauth.features.keys import api_keys as keys
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
    return keys.create(ada, "pip", ["reports.read"], now=time.time())


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
@pytest.mark.parametrize("name", [USERNAME, USERNAME.upper(), EMAIL, EMAIL.upper()])
def test_a_key_is_the_password_of_its_owner_s_names_in_any_letter_case(client, key, name):
    assert caller(client, basic(name, key.text)) == (USERNAME, key.row.id, None)


@pytest.mark.promise(59)
@pytest.mark.parametrize("name", ["ada:lovelace", ":ada", "ada:", "a:d:a"])
def test_a_username_can_have_colons(client, ada, settings, name):
    ada.username = name
    ada.save()
    key = keys.create(ada, "pip", [], now=time.time())
    assert caller(client, basic(name, key.text)) == (name, key.row.id, None)
    assert caller(client, basic(name.replace(":", ""), key.text)) == REJECTED


def test_the_key_has_its_permissions_alone(client, key, ada):
    ada.is_superuser = True
    ada.save()
    answer = client.get("/auth/me", headers=basic(USERNAME, key.text))
    assert (answer.json["permissions"], answer.json["is_superuser"]) == (["reports.read"], False)


@pytest.mark.promise(59)
@pytest.mark.parametrize("name", ["", "Grace", "Ad", f"{USERNAME} ", f"{USERNAME}\0", "__token__"])
def test_a_key_is_refused_with_another_name(client, key, grace, name):
    assert caller(client, basic(name, key.text)) == REJECTED


@pytest.mark.promise(59)
@pytest.mark.parametrize("password", [PASSWORD, "", "wsgiauth_", f"wsgiauth_{'a' * 62}", "x.y.z"])
def test_another_password_costs_neither_a_hash_nor_a_query(
    client, key, queries, monkeypatch, password
):
    monkeypatch.setattr(bcrypt, "checkpw", lambda *_: pytest.fail("a hash was computed"))
    assert queries(lambda: caller(client, basic(USERNAME, password))) == []
    assert caller(client, basic(USERNAME, password)) == REJECTED


def test_a_token_is_no_password(client, ada, bearer):
    token = bearer(ada)["Authorization"].removeprefix("Bearer ")
    assert caller(client, basic(USERNAME, token)) == REJECTED


def test_a_revoked_key_is_refused(client, key):
    key.row.delete_instance()
    assert caller(client, basic(USERNAME, key.text)) == REJECTED


@pytest.mark.promise(59)
def test_the_key_costs_one_query(client, key, queries):
    caller(client, basic(USERNAME, key.text))  # also writes when it was used
    assert len(queries(lambda: caller(client, basic(USERNAME, key.text)))) == 1


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        pytest.param("QTpi", ("A", "b"), id="usual"),
        pytest.param("QTpiOmM=", ("A:b", "c"), id="a colon in the name"),
        pytest.param("w6Q6Yg==", ("ä", "b"), id="UTF-8"),
        pytest.param("5Dpi", ("", ""), id="Latin-1"),
        pytest.param("QQ==", ("A", ""), id="no colon"),
        pytest.param("QTp", ("", ""), id="cut"),
        pytest.param("QT pi", ("", ""), id="two words"),
        pytest.param("é", ("", ""), id="not ASCII"),
        pytest.param("QTpi" * 1000, ("", ""), id="too long"),
        pytest.param("", ("", ""), id="empty"),
    ],
)
def test_the_credentials_are_read(encoded, expected):
    assert read(encoded) == expected


@pytest.mark.parametrize(
    ("spelling", "is_read"),
    [
        pytest.param("bAsIc \t {} ", True, id="another letter case and spaces"),
        pytest.param("Basic,{}", False, id="no space"),
        pytest.param("Digest {}", False, id="another scheme"),
    ],
)
def test_the_scheme_is_read_in_any_letter_case(client, key, spelling, is_read):
    _, encoded = basic(USERNAME, key.text)["Authorization"].split()
    header = {"Authorization": spelling.format(encoded)}
    assert caller(client, header) == ((USERNAME, key.row.id, None) if is_read else ANONYMOUS)


def test_the_repr_of_credentials_has_neither_the_name_nor_the_key():
    assert repr(read("a2V5OmtleQ==")) == "<Credentials>"


# The cookie, and other sites


def test_the_cookie_stands_beside_a_scheme_that_is_not_known(client, ada, bearer):
    token = bearer(ada)["Authorization"].removeprefix("Bearer ")
    digest = {"Authorization": 'Digest username="Ada"', "Cookie": f"wsgiauth={token}"}
    assert caller(client, digest) == (USERNAME, None, None)


def test_a_refused_key_hides_the_cookie(client, ada, bearer):
    token = bearer(ada)["Authorization"].removeprefix("Bearer ")
    cookie = {"Cookie": f"wsgiauth={token}"}
    assert caller(client, cookie) == (USERNAME, None, None)
    assert caller(client, cookie, {"Authorization": "Basic ?"}) == REJECTED


def test_the_key_goes_before_the_cookie_and_has_no_claims_of_it(client, key, grace, bearer):
    token = bearer(grace)["Authorization"].removeprefix("Bearer ")
    cookie = {"Cookie": f"wsgiauth={token}"}
    assert caller(client, cookie, basic(USERNAME, key.text)) == (USERNAME, key.row.id, None)


@pytest.mark.promise(59)
@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        pytest.param("POST", CROSS_SITE, None, id="a form of another site"),
        pytest.param("GET", {**CROSS_SITE, "Upgrade": "websocket"}, None, id="its WebSocket"),
        pytest.param("GET", CROSS_SITE, USERNAME, id="its link"),
        pytest.param("POST", SAME_ORIGIN, USERNAME, id="a form of this site"),
        pytest.param("POST", {}, USERNAME, id="a program"),
    ],
)
def test_a_key_that_a_browser_repeats_counts_as_the_cookie_does(
    client, key, method, headers, expected
):
    seen = caller(client, basic(USERNAME, key.text), headers, method=method)
    assert seen == ((expected, key.row.id, None) if expected else ANONYMOUS)


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


@pytest.mark.parametrize(
    ("app", "arguments", "path"),
    [
        pytest.param(login_required(redirect_url="/auth/login")(echo), {}, "/", id="a guard"),
        pytest.param(refusing, {"challenge": True}, "/", id="challenge"),
        pytest.param(echo, {"public": ()}, "/", id="public"),
        pytest.param(echo, {}, "/auth/me", id="/auth/me"),
    ],
)
def test_a_program_is_asked_for_basic_first(make_client, app, arguments, path):
    answer = make_client(app, **arguments).get(path, status=401)
    assert challenges(answer) == [BASIC, BEARER]


@pytest.mark.parametrize("mode", ["navigate", "cors", "no-cors", "same-origin", "websocket"])
def test_a_page_of_a_browser_is_never_asked_for_basic(make_client, mode):
    answer = make_client(login_required(echo)).get(
        "/", headers={"Sec-Fetch-Mode": mode}, status=401
    )
    assert challenges(answer) == [BEARER]


def test_a_script_that_no_mode_tells_from_a_program_is_not_asked_for_basic(make_client):
    headers = {**BROWSER, "X-Requested-With": "XMLHttpRequest"}  # over plain http
    guarded = login_required(redirect_url="/auth/login")(echo)
    assert challenges(make_client(guarded).get("/", headers=headers, status=401)) == [BEARER]


@pytest.mark.parametrize(
    ("method", "mode", "expected"),
    [
        pytest.param("PUT", "no-cors", [BASIC, BEARER], id="Thunderbird"),
        pytest.param("PUT", "cors", [BEARER], id="page of another site"),
        pytest.param("PUT", "same-origin", [BEARER], id="page"),
        pytest.param("POST", "no-cors", [BEARER], id="form"),
    ],
)
def test_only_a_request_that_no_page_can_send_is_asked_for_basic(
    make_client, method, mode, expected
):
    answer = make_client(login_required(echo)).request(
        "/", method=method, headers={"Sec-Fetch-Mode": mode}, status=401
    )
    assert challenges(answer) == expected


def test_a_browser_is_redirected_as_before(make_client):
    guarded = login_required(redirect_url="/auth/login")(echo)
    assert make_client(guarded).get("/", headers=BROWSER).status_code == 302


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
