"""/auth/check: what it tells a proxy, and when it refuses instead."""

from dataclasses import replace
from functools import partial
from urllib.parse import unquote

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.sites import BROWSER, USERNAME, echo
from wsgiauth import AuthMiddleware
from wsgiauth.accounts import create_user, known_permissions
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.features.forward_auth.check import MOST_NAMED, MOST_PERMISSIONS
from wsgiauth.features.keys import api_keys
from wsgiauth.testing import api_key
from wsgiauth.web.request import MAX_QUERY

GET = {"X-Forwarded-Method": "GET"}
PAGE = {**BROWSER, **GET, "X-Forwarded-Uri": "/reports?year=1843&q=%2Fa"}
CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}
CHALLENGE = 'Bearer realm="wsgiauth"'
TO_LOGIN = "/auth/login?next=%2Freports%3Fyear%3D1843%26q%3D%252Fa"
TO_CONFIRM = TO_LOGIN.replace("login", "confirm")
FRESH = 'Bearer realm="wsgiauth", error="insufficient_user_authentication"'


@pytest.fixture
def settings(settings):
    """Return settings with forward authentication."""
    return replace(settings, FORWARD_AUTH=True)


@pytest.fixture
def cookie(ada, tokens):
    """Return the header of a browser's session."""
    return {"Cookie": f"wsgiauth={sessions.start(ada, tokens).token}"}


@pytest.fixture
def stale(cookie):
    """Return the header of a session whose last proof is long ago."""
    Session.update(authenticated_at=0).execute()
    return cookie


def test_the_caller_is_named(client, ada, cookie):
    for name in ("Writers", "editors"):
        ada.join(Group.objects.create(name=name))
    checked = client.get("/auth/check", headers={**cookie, **GET}, status=204)
    assert [(name, value) for name, value in checked.headers.items() if "Remote" in name] == [
        ("Remote-User", "Ada"),
        ("Remote-Id", str(ada.id)),
        ("Remote-Email", "ada@example.org"),
        ("Remote-Groups", "editors,Writers"),
    ]
    assert checked.headers["Cache-Control"] == "no-store"
    assert checked.body == b""


@pytest.mark.every_database
def test_the_user_and_the_groups_cost_one_select(client, ada, cookie, queries):
    for name in ("Writers", "editors"):
        ada.join(Group.objects.create(name=name))
    client.get("/auth/check", headers={**cookie, **GET}, status=204)
    answers = []
    ask = partial(client.get, "/auth/check", headers={**cookie, **GET}, status=204)
    assert len(queries(lambda: answers.append(ask()))) == 1
    assert answers[0].headers["Remote-Groups"] == "editors,Writers"


def test_what_a_header_cannot_have_is_percent_encoded(client, ada, cookie):
    encoded = {
        "Ada Lovelace": "Ada Lovelace",
        "a,b": "a%2Cb",
        "50%2C": "50%252C",
        "Zoë": "Zo%C3%AB",
    }
    for name in encoded:
        ada.join(Group.objects.create(name=name))
    sent = client.get("/auth/check", headers={**cookie, **GET}).headers["Remote-Groups"].split(",")
    assert {unquote(each): each for each in sent} == encoded


def test_names_and_addresses_are_encoded_too(client, settings, bearer):
    zoe = create_user("Zoë", "zoë@example.org", "four unrelated words", settings=settings)
    headers = client.get("/auth/check", headers=bearer(zoe)).headers
    assert (headers["Remote-User"], headers["Remote-Email"]) == ("Zo%C3%AB", "zo%C3%AB@example.org")


def test_the_query_says_which_groups_are_sent(client, ada, cookie):
    for name in ("Writers", "editors", "a,b", "50% off"):
        ada.join(Group.objects.create(name=name))
    Group.objects.create(name="readers")

    def groups(query):
        checked = client.get(f"/auth/check?{query}", headers={**cookie, **GET}, status=204)
        return checked.headers["Remote-Groups"]

    expected = {
        "": "50%25 off,a%2Cb,editors,Writers",
        "groups=": "",
        "groups=editors": "editors",
        "groups=Writers,editors": "editors,Writers",
        "groups=Writers&groups=editors": "editors,Writers",
        "groups=Writers%2Ceditors": "editors,Writers",
        "groups=writers,EDITORS": "editors,Writers",
        "groups=editors,readers": "editors",  # not a member of readers
        "groups=chess": "",  # no such group
        "groups=a%252Cb,50%2525+off": "50%25 off,a%2Cb",  # as in the header
    }
    assert {query: groups(query) for query in expected} == expected


LONGEST = [f"{number:02}{'é' * 100}" for number in range(13)]  # 602 characters each, and commas


def test_8192_characters_of_groups_are_sent_and_more_are_refused_rather_than_cut(
    client, ada, cookie, caplog
):
    headers = {**cookie, **GET}
    for name in (*LONGEST, "z" * 5 + "é" * 58):
        ada.join(Group.objects.create(name=name))
    checked = client.get("/auth/check", headers=headers, status=204)
    assert len(checked.headers["Remote-Groups"]) == 8192
    Group.update(name="z" * 6 + "é" * 58).where(Group.name.startswith("z")).execute()
    refused = client.get("/auth/check", headers=headers, status=403)
    assert refused.json["detail"] == "Your account is in too many groups for this page."
    event = caplog.records[-1]
    assert (event.event, event.user_id, event.actor) == ("refused", ada.id, f"user {ada.id}")
    assert event.reason == "Remote-Groups would be longer than 8192 characters"
    groups = client.get("/auth/check?groups=00", headers=headers, status=204)
    assert groups.headers["Remote-Groups"] == ""


def test_it_is_off_unless_it_is_switched_on(settings, ada, bearer):
    off = TestApp(AuthMiddleware(echo, replace(settings, FORWARD_AUTH=False)))
    off.get("/auth/check", headers=bearer(ada), status=404)


def test_every_method_is_answered(client, ada, bearer):
    headers = bearer(ada)
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        checked = client.request("/auth/check", method=method, headers=headers, status=204)
        assert checked.headers["Remote-User"] == USERNAME, method


@pytest.mark.promise(60)
def test_nothing_that_the_client_sends_is_named(client, ada, bearer):
    forged = {"Remote-User": "root", "Remote-Groups": "staff", "X-Remote-User": "root"}
    client.get("/auth/check", headers=forged, status=401)
    headers = client.get("/auth/check", headers={**forged, **bearer(ada)}).headers
    assert (headers["Remote-User"], headers["Remote-Groups"]) == (USERNAME, "")


# What the original request was, and whether the cookie identifies its user.
POST = {"X-Forwarded-Method": "POST"}
FROM_THE_COOKIE = {
    "a link from another site": GET | CROSS_SITE,
    "a form": POST | {"Sec-Fetch-Site": "same-origin"},
    "a WebSocket of the site": GET | {"Sec-WebSocket-Key": "x", "Sec-Fetch-Site": "same-origin"},
}
WITHOUT_THE_COOKIE = {
    "a form of another site": POST | CROSS_SITE,
    "by its Origin": POST | {"Origin": "https://evil.example"},
    "no method": CROSS_SITE,
    "not a method": {"X-Forwarded-Method": "get"} | CROSS_SITE,
    "two methods": {"X-Forwarded-Method": "GET,GET"} | CROSS_SITE,
    "a WebSocket": GET | CROSS_SITE | {"Upgrade": "websocket"},
    "a WebSocket without Upgrade": GET | CROSS_SITE | {"Sec-WebSocket-Key": "x"},
    "a WebSocket of HTTP/2": GET | CROSS_SITE | {"Sec-WebSocket-Version": "13"},
    "a WebSocket by its mode": GET | CROSS_SITE | {"Sec-Fetch-Mode": "websocket"},
}


@pytest.mark.promise(17)
@pytest.mark.promise(61)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_cookie_is_that_of_the_original_request(client, cookie, method):
    def status_of(headers):
        headers = {**cookie, **headers}
        return client.request("/auth/check", method=method, headers=headers, status="*").status_int

    assert {name: status_of(each) for name, each in FROM_THE_COOKIE.items()} == dict.fromkeys(
        FROM_THE_COOKIE, 204
    )
    assert {name: status_of(each) for name, each in WITHOUT_THE_COOKIE.items()} == dict.fromkeys(
        WITHOUT_THE_COOKIE, 401
    )


def test_a_key_is_its_owner_without_groups(client, ada):
    ada.grant("reports.read")
    ada.join(Group.objects.create(name="Editors"))
    headers = api_key(client.app, ada, ["reports.read"])
    for query in ("", "&groups=Editors"):
        path = f"/auth/check?permission=reports.read{query}"
        checked = client.get(path, headers=headers, status=204)
        assert (checked.headers["Remote-User"], checked.headers["Remote-Groups"]) == (USERNAME, "")


def test_a_key_without_the_permission_is_refused_and_is_the_actor(client, ada, caplog):
    ada.grant("reports.read", "reports.write")
    headers = api_key(client.app, ada, ["reports.read"])
    refused = client.get("/auth/check?permission=reports.write", headers=headers, status=403)
    assert refused.json["code"] == "insufficient_scope"
    key_id = api_keys.list_keys(ada, 0)[0].id
    assert caplog.records[-1].actor == f"user {ada.id} key {key_id}"


def test_all_permissions_are_needed(client, ada, cookie):
    ada.grant("a.b", "a.c")

    def status_of(query):
        headers = {**cookie, **GET}
        return client.get(f"/auth/check?{query}", headers=headers, status="*").status_int

    expected = {
        "permission=a.b": 204,
        "permission=a.b&permission=a.c": 204,
        "permission=a.d": 403,
        "permission=a.b&permission=a.d": 403,
        "permission=a.d&permission=a.b": 403,
    }
    assert {query: status_of(query) for query in expected} == expected


def test_permissions_that_a_query_names_are_not_kept(client, ada, bearer):
    client.get("/auth/check?permission=made.up", headers=bearer(ada), status=403)
    assert "made.up" not in known_permissions.asked_for()


PREFLIGHT = {
    "X-Forwarded-Method": "OPTIONS",
    "Origin": "https://app.example",
    "Access-Control-Request-Method": "DELETE",
}


@pytest.mark.promise(60)
def test_a_preflight_can_pass_and_names_no_one(client, cookie, queries):
    answers = []
    for query in ("", "&permission=a.b", "&fresh&second_factor"):
        url = f"/auth/check?preflight=pass{query}"
        for headers in (PREFLIGHT, PREFLIGHT | cookie | {"X-Forwarded-Uri": "/", **BROWSER}):
            ask = partial(client.get, url, headers=headers, status=204)
            assert queries(lambda ask=ask: answers.append(ask())) == [], query
    assert not [name for answer in answers for name in answer.headers if "Remote" in name]


NO_PREFLIGHT = {
    "no method": {"X-Forwarded-Method": None},
    "another method": {"X-Forwarded-Method": "GET"},
    "letter case": {"X-Forwarded-Method": "options"},
    "two methods": {"X-Forwarded-Method": "OPTIONS, GET"},
    "no Origin": {"Origin": None},
    "no request": {"Access-Control-Request-Method": None},
}


@pytest.mark.promise(60)
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_only_a_preflight_passes(client, method):
    def status_of(query, changes):
        headers = {name: value for name, value in (PREFLIGHT | changes).items() if value}
        url = f"/auth/check?{query}"
        return client.request(url, method=method, headers=headers, status="*").status_int

    assert status_of("", {}) == 401  # not in the query
    found = {name: status_of("preflight=pass", each) for name, each in NO_PREFLIGHT.items()}
    assert found == dict.fromkeys(NO_PREFLIGHT, 401)


NOT_UNDERSTOOD = {
    "a group without a name": "groups=a,,b",
    "a space before a group": "groups=a,+b",
    "no name of a group": "groups=-a",
    "an encoded NUL": "groups=%2500",
    "no value for a preflight": "preflight",
    "another value for a preflight": "preflight=pass&preflight=refuse",
    "unknown": "permissions=a.b",
    "letter case": "Fresh",
    "no value": "permission",
    "empty": "permission=",
    "a list": "permission=a.b,a.c",
    "not UTF-8": "permission=%ff.b",
    "too many": "&".join(["fresh"] * 21),
    "too many permissions": "&".join(["permission=a.b"] * (MOST_PERMISSIONS + 1)),
    "too many groups": "groups=" + ",".join(f"group{each}" for each in range(MOST_NAMED + 1)),
    "too long": f"permission={'a' * MAX_QUERY}.b",
}


def test_a_query_that_is_not_understood_is_an_error(client, ada, cookie):
    def refusal_of(query):
        refused = client.get(f"/auth/check?{query}", headers={**cookie, **GET}, status="*")
        return refused.status_int, refused.json["code"]

    found = {name: refusal_of(query) for name, query in NOT_UNDERSTOOD.items()}
    assert found == dict.fromkeys(NOT_UNDERSTOOD, (400, "malformed"))


def test_a_query_can_have_every_field_with_the_most_values(client, cookie):
    permissions = "&".join(f"permission=a.b{each}" for each in range(MOST_PERMISSIONS))
    groups = ",".join(f"group{each}" for each in range(MOST_NAMED))
    query = f"{permissions}&groups={groups}&fresh&second_factor&preflight=pass"
    refused = client.get(f"/auth/check?{query}", headers={**cookie, **GET}, status=403)
    assert refused.json["code"] == "forbidden"


def test_an_anonymous_client_is_challenged_and_a_browser_sent_to_the_login_page_and_back(client):
    for query in ("", "?permission=a.b", "?fresh", "?second_factor"):
        for headers in (GET, GET | BROWSER):
            refused = client.get(f"/auth/check{query}", headers=headers, status=401)
            assert refused.headers["WWW-Authenticate"] == CHALLENGE, query
            assert refused.json["code"] == "unauthenticated", query
        sent = client.get(f"/auth/check{query}", headers=PAGE, status=302)
        assert sent.location == TO_LOGIN, query


def test_a_bad_token_is_challenged_as_such(client):
    refused = client.get("/auth/check", headers={"Authorization": "Bearer x.y.z"}, status=401)
    assert refused.headers["WWW-Authenticate"] == f'{CHALLENGE}, error="invalid_token"'


def test_a_program_or_a_script_gets_the_challenge_and_no_redirect(client):
    headers = {**PAGE, "Accept": "*/*"}
    assert client.get("/auth/check", headers=headers, status=401).json["status"] == 401
    for header in ({"Sec-Fetch-Mode": "cors"}, {"X-Requested-With": "XMLHttpRequest"}):
        refused = client.get("/auth/check", headers={**PAGE, **header}, status=401)
        assert refused.headers["WWW-Authenticate"] == CHALLENGE


def test_a_form_is_told_that_it_was_not_sent_and_htmx_leaves_the_page(client):
    form = {"X-Forwarded-Method": "POST", "Referer": "http://localhost:80/form"}
    sent = client.get("/auth/check", headers={**PAGE, **form}, status=302)
    assert sent.location == "/auth/login?done=unsent&next=%2Fform"
    htmx = {"HX-Request": "true", "HX-Current-URL": "http://localhost:80/list?page=2"}
    sent = client.get("/auth/check", headers={**PAGE, **htmx}, status=401)
    assert sent.headers["HX-Redirect"] == "/auth/login?next=%2Flist%3Fpage%3D2"
    answer = client.get("/auth/check", headers={**GET, **htmx}, status=401)
    assert "HX-Redirect" not in answer.headers


def test_no_next_leads_to_another_site(client):
    def location(uri):
        headers = {**PAGE, "X-Forwarded-Uri": uri}
        return client.get("/auth/check", headers=headers, status=302).location

    uris = [
        "//evil.example/",
        "https://evil.example/",
        "/\\evil.example",
        "/%5cevil.example",
        "/a%0d%0aSet-Cookie:x",
        "",
    ]
    assert {uri: location(uri) for uri in uris} == dict.fromkeys(uris, "/auth/login")


def test_a_proof_that_is_too_old_is_asked_for_again(client, stale):
    client.get("/auth/check", headers={**stale, **GET}, status=204)
    refused = client.get("/auth/check?fresh", headers={**stale, **GET}, status=401)
    assert refused.headers["WWW-Authenticate"] == f'{FRESH}, max_age="900"'
    assert client.get("/auth/check?fresh", headers={**stale, **PAGE}).location == TO_CONFIRM


def test_a_recent_proof_is_fresh(client, cookie):
    for query in ("fresh", "fresh=", "fresh=0"):
        client.get(f"/auth/check?{query}", headers={**cookie, **GET}, status=204)


def test_a_second_factor_is_set_up_first(settings, ada, tokens):
    client = TestApp(AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY)))
    headers = {"Cookie": f"wsgiauth={sessions.start(ada, tokens).token}"}
    refused = client.get("/auth/check?second_factor=1", headers={**headers, **GET}, status=401)
    assert refused.json["code"] == "second_factor_setup_required"
    sent = client.get("/auth/check?second_factor=1", headers={**headers, **PAGE}, status=302)
    assert sent.location == TO_LOGIN.replace("login", "totp")
    with_factor = sessions.start(ada, tokens, methods="pwd otp").token
    headers = {"Cookie": f"wsgiauth={with_factor}"}
    client.get("/auth/check?second_factor", headers={**headers, **GET}, status=204)


def test_a_session_without_the_demanded_second_factor_is_anonymous(settings, ada, tokens):
    demanding = replace(settings, FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all")
    client = TestApp(AuthMiddleware(echo, demanding))
    headers = {"Cookie": f"wsgiauth={sessions.start(ada, tokens).token}"}
    client.get("/auth/check", headers={**headers, **GET}, status=401)
    sent = client.get("/auth/check", headers={**headers, **PAGE}, status=302)
    assert sent.location == TO_LOGIN.replace("login", "totp")


@pytest.mark.promise(5)
def test_a_logout_counts_at_once(client, ada, cookie):
    client.get("/auth/check", headers={**cookie, **GET}, status=204)
    sessions.revoke_all(ada)
    client.get("/auth/check", headers={**cookie, **GET}, status=401)


@pytest.mark.promise(60)
def test_without_its_database_it_admits_no_one(client, cookie):
    client.get("/auth/check", headers={**cookie, **GET}, status=204)
    User._meta.database.execute_sql("ALTER TABLE wsgiauth_session RENAME TO gone")
    for query in ("", "?permission=a.b", "?fresh"):
        refused = client.get(f"/auth/check{query}", headers={**cookie, **PAGE}, status=503)
        assert "Remote-User" not in refused.headers
