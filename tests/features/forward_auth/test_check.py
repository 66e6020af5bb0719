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
from wsgiauth.features.keys import api_keys as keys
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


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        pytest.param("Ada Lovelace", "Ada Lovelace", id="a space"),
        pytest.param("a,b", "a%2Cb", id="a comma"),
        pytest.param("50%2C", "50%252C", id="a percent sign"),
        pytest.param("Zoë", "Zo%C3%AB", id="UTF-8"),
    ],
)
def test_what_a_header_cannot_have_is_percent_encoded(client, ada, cookie, name, encoded):
    ada.join(Group.objects.create(name=name))
    groups = client.get("/auth/check", headers={**cookie, **GET}).headers["Remote-Groups"]
    assert (groups, unquote(groups)) == (encoded, name)


def test_names_and_addresses_are_encoded_too(client, settings, bearer):
    zoe = create_user("Zoë", "zoë@example.org", "four unrelated words", settings=settings)
    headers = client.get("/auth/check", headers=bearer(zoe)).headers
    assert (headers["Remote-User"], headers["Remote-Email"]) == ("Zo%C3%AB", "zo%C3%AB@example.org")


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        pytest.param("", "50%25 off,a%2Cb,editors,Writers", id="all"),
        pytest.param("groups=", "", id="none"),
        pytest.param("groups=editors", "editors", id="one"),
        pytest.param("groups=Writers,editors", "editors,Writers", id="two"),
        pytest.param("groups=Writers&groups=editors", "editors,Writers", id="repeated"),
        pytest.param("groups=Writers%2Ceditors", "editors,Writers", id="an encoded comma"),
        pytest.param("groups=writers,EDITORS", "editors,Writers", id="letter case"),
        pytest.param("groups=editors,readers", "editors", id="not a member"),
        pytest.param("groups=chess", "", id="no such group"),
        pytest.param("groups=a%252Cb,50%2525+off", "50%25 off,a%2Cb", id="as in the header"),
    ],
)
def test_the_query_says_which_groups_are_sent(client, ada, cookie, query, groups):
    for name in ("Writers", "editors", "a,b", "50% off"):
        ada.join(Group.objects.create(name=name))
    Group.objects.create(name="readers")
    checked = client.get(f"/auth/check?{query}", headers={**cookie, **GET}, status=204)
    assert checked.headers["Remote-Groups"] == groups


LONGEST = [f"{number:02}{'é' * 100}" for number in range(13)]  # 602 characters each, and commas


def test_8192_characters_of_groups_are_sent(client, ada, cookie):
    for name in (*LONGEST, "z" * 5 + "é" * 58):
        ada.join(Group.objects.create(name=name))
    checked = client.get("/auth/check", headers={**cookie, **GET}, status=204)
    assert len(checked.headers["Remote-Groups"]) == 8192


def test_more_groups_are_refused_rather_than_cut(client, ada, cookie, caplog):
    for name in (*LONGEST, "z" * 6 + "é" * 58):
        ada.join(Group.objects.create(name=name))
    refused = client.get("/auth/check", headers={**cookie, **GET}, status=403)
    assert refused.json["detail"] == "Your account is in too many groups for this page."
    event = caplog.records[-1]
    assert (event.event, event.user_id, event.actor) == ("refused", ada.id, f"user {ada.id}")
    assert event.reason == "Remote-Groups would be longer than 8192 characters"
    headers = {**cookie, **GET}
    groups = client.get("/auth/check?groups=00", headers=headers, status=204)
    assert groups.headers["Remote-Groups"] == ""


def test_it_is_off_unless_it_is_switched_on(settings, ada, bearer):
    off = TestApp(AuthMiddleware(echo, replace(settings, FORWARD_AUTH=False)))
    off.get("/auth/check", headers=bearer(ada), status=404)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_every_method_is_answered(client, ada, bearer, method):
    checked = client.request("/auth/check", method=method, headers=bearer(ada), status=204)
    assert checked.headers["Remote-User"] == USERNAME


@pytest.mark.promise(60)
def test_nothing_that_the_client_sends_is_named(client, ada, bearer):
    forged = {"Remote-User": "root", "Remote-Groups": "staff", "X-Remote-User": "root"}
    client.get("/auth/check", headers=forged, status=401)
    headers = client.get("/auth/check", headers={**forged, **bearer(ada)}).headers
    assert (headers["Remote-User"], headers["Remote-Groups"]) == (USERNAME, "")


# What the original request was, and whether the cookie identifies its user.
@pytest.mark.promise(17)
@pytest.mark.promise(61)
@pytest.mark.parametrize(
    ("headers", "is_used"),
    [
        pytest.param(GET | CROSS_SITE, True, id="a link from another site"),
        pytest.param({"X-Forwarded-Method": "POST"} | CROSS_SITE, False, id="a form of another"),
        pytest.param(
            {"X-Forwarded-Method": "POST", "Sec-Fetch-Site": "same-origin"}, True, id="a form"
        ),
        pytest.param(
            {"X-Forwarded-Method": "POST", "Origin": "https://evil.example"}, False, id="by Origin"
        ),
        pytest.param(CROSS_SITE, False, id="no method"),
        pytest.param({"X-Forwarded-Method": "get"} | CROSS_SITE, False, id="not a method"),
        pytest.param({"X-Forwarded-Method": "GET,GET"} | CROSS_SITE, False, id="two methods"),
        pytest.param(GET | CROSS_SITE | {"Upgrade": "websocket"}, False, id="a WebSocket"),
        pytest.param(GET | CROSS_SITE | {"Sec-WebSocket-Key": "x"}, False, id="without Upgrade"),
        pytest.param(GET | CROSS_SITE | {"Sec-WebSocket-Version": "13"}, False, id="of HTTP/2"),
        pytest.param(GET | CROSS_SITE | {"Sec-Fetch-Mode": "websocket"}, False, id="by its mode"),
        pytest.param(
            GET | {"Sec-WebSocket-Key": "x", "Sec-Fetch-Site": "same-origin"},
            True,
            id="a WebSocket of the site",
        ),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_cookie_is_that_of_the_original_request(client, cookie, method, headers, is_used):
    headers = {**cookie, **headers}
    status = 204 if is_used else 401
    client.request("/auth/check", method=method, headers=headers, status=status)


def test_a_key_is_its_owner_without_groups(client, ada):
    ada.grant("reports.read")
    ada.join(Group.objects.create(name="Editors"))
    headers = api_key(client.app, ada, ["reports.read"])
    for query in ("", "&groups=Editors"):
        path = f"/auth/check?permission=reports.read{query}"
        checked = client.get(path, headers=headers, status=204)
        assert (checked.headers["Remote-User"], checked.headers["Remote-Groups"]) == (USERNAME, "")


def test_a_key_without_the_permission_is_refused(client, ada):
    ada.grant("reports.read", "reports.write")
    headers = api_key(client.app, ada, ["reports.read"])
    refused = client.get("/auth/check?permission=reports.write", headers=headers, status=403)
    assert refused.json["code"] == "insufficient_scope"


def test_the_refused_key_is_the_actor(client, ada, caplog):
    headers = api_key(client.app, ada)
    client.get("/auth/check?permission=reports.write", headers=headers, status=403)
    key_id = keys.list_keys(ada, 0)[0].id
    assert caplog.records[-1].actor == f"user {ada.id} key {key_id}"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        pytest.param("permission=a.b", 204, id="one"),
        pytest.param("permission=a.b&permission=a.c", 204, id="all"),
        pytest.param("permission=a.d", 403, id="none"),
        pytest.param("permission=a.b&permission=a.d", 403, id="not all"),
        pytest.param("permission=a.d&permission=a.b", 403, id="not all, the other way round"),
    ],
)
def test_all_permissions_are_needed(client, ada, cookie, query, status):
    ada.grant("a.b", "a.c")
    client.get(f"/auth/check?{query}", headers={**cookie, **GET}, status=status)


def test_permissions_that_a_query_names_are_not_kept(client, ada, bearer):
    client.get("/auth/check?permission=made.up", headers=bearer(ada), status=403)
    assert "made.up" not in known_permissions.asked_for()


PREFLIGHT = {
    "X-Forwarded-Method": "OPTIONS",
    "Origin": "https://app.example",
    "Access-Control-Request-Method": "DELETE",
}


@pytest.mark.promise(60)
@pytest.mark.parametrize("query", ["", "&permission=a.b", "&fresh&second_factor"])
def test_a_preflight_can_pass_and_names_no_one(client, cookie, queries, query):
    answers = []
    for headers in (PREFLIGHT, PREFLIGHT | cookie | {"X-Forwarded-Uri": "/", **BROWSER}):
        ask = partial(client.get, f"/auth/check?preflight=pass{query}", headers=headers, status=204)
        assert queries(lambda ask=ask: answers.append(ask())) == []
    assert not [name for answer in answers for name in answer.headers if "Remote" in name]


@pytest.mark.promise(60)
@pytest.mark.parametrize(
    ("query", "changes"),
    [
        pytest.param("", {}, id="not in the query"),
        pytest.param("preflight=pass", {"X-Forwarded-Method": None}, id="no method"),
        pytest.param("preflight=pass", {"X-Forwarded-Method": "GET"}, id="another method"),
        pytest.param("preflight=pass", {"X-Forwarded-Method": "options"}, id="letter case"),
        pytest.param("preflight=pass", {"X-Forwarded-Method": "OPTIONS, GET"}, id="two methods"),
        pytest.param("preflight=pass", {"Origin": None}, id="no Origin"),
        pytest.param("preflight=pass", {"Access-Control-Request-Method": None}, id="no request"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_only_a_preflight_passes(client, method, query, changes):
    headers = {name: value for name, value in (PREFLIGHT | changes).items() if value is not None}
    client.request(f"/auth/check?{query}", method=method, headers=headers, status=401)


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("groups=a,,b", id="a group without a name"),
        pytest.param("groups=a,+b", id="a space before a group"),
        pytest.param("groups=-a", id="no name of a group"),
        pytest.param("groups=%2500", id="an encoded NUL"),
        pytest.param("preflight", id="no value for a preflight"),
        pytest.param("preflight=pass&preflight=refuse", id="another value for a preflight"),
        pytest.param("permissions=a.b", id="unknown"),
        pytest.param("Fresh", id="letter case"),
        pytest.param("permission", id="no value"),
        pytest.param("permission=", id="empty"),
        pytest.param("permission=a.b,a.c", id="a list"),
        pytest.param("permission=%ff.b", id="not UTF-8"),
        pytest.param("&".join(["fresh"] * 21), id="too many"),
        pytest.param(f"permission={'a' * MAX_QUERY}.b", id="too long"),
    ],
)
def test_a_query_that_is_not_understood_is_an_error(client, ada, cookie, query):
    refused = client.get(f"/auth/check?{query}", headers={**cookie, **GET}, status=400)
    assert refused.json["code"] == "malformed"


@pytest.mark.parametrize("query", ["", "?permission=a.b", "?fresh", "?second_factor"])
def test_an_anonymous_client_is_challenged(client, query):
    for headers in (GET, GET | BROWSER):
        refused = client.get(f"/auth/check{query}", headers=headers, status=401)
        assert refused.headers["WWW-Authenticate"] == CHALLENGE
        assert refused.json["code"] == "unauthenticated"


def test_a_bad_token_is_challenged_as_such(client):
    refused = client.get("/auth/check", headers={"Authorization": "Bearer x.y.z"}, status=401)
    assert refused.headers["WWW-Authenticate"] == f'{CHALLENGE}, error="invalid_token"'


@pytest.mark.parametrize("query", ["", "?permission=a.b", "?fresh", "?second_factor"])
def test_a_browser_is_sent_to_the_login_page_and_back(client, query):
    assert client.get(f"/auth/check{query}", headers=PAGE, status=302).location == TO_LOGIN


def test_a_program_gets_the_challenge_and_no_redirect(client):
    headers = {**PAGE, "Accept": "*/*"}
    assert client.get("/auth/check", headers=headers, status=401).json["status"] == 401


def test_a_script_gets_the_challenge_and_no_redirect(client):
    for header in ({"Sec-Fetch-Mode": "cors"}, {"X-Requested-With": "XMLHttpRequest"}):
        refused = client.get("/auth/check", headers={**PAGE, **header}, status=401)
        assert refused.headers["WWW-Authenticate"] == CHALLENGE


def test_a_form_is_told_that_it_was_not_sent(client):
    form = {"X-Forwarded-Method": "POST", "Referer": "http://localhost:80/form"}
    sent = client.get("/auth/check", headers={**PAGE, **form}, status=302)
    assert sent.location == "/auth/login?done=unsent&next=%2Fform"


def test_htmx_leaves_the_page(client):
    htmx = {"HX-Request": "true", "HX-Current-URL": "http://localhost:80/list?page=2"}
    sent = client.get("/auth/check", headers={**PAGE, **htmx}, status=401)
    assert sent.headers["HX-Redirect"] == "/auth/login?next=%2Flist%3Fpage%3D2"
    answer = client.get("/auth/check", headers={**GET, **htmx}, status=401)
    assert "HX-Redirect" not in answer.headers


@pytest.mark.parametrize(
    "uri",
    [
        "//evil.example/",
        "https://evil.example/",
        "/\\evil.example",
        "/%5cevil.example",
        "/a%0d%0aSet-Cookie:x",
        "",
    ],
)
def test_no_next_leads_to_another_site(client, uri):
    headers = {**PAGE, "X-Forwarded-Uri": uri}
    assert client.get("/auth/check", headers=headers, status=302).location == "/auth/login"


def test_a_proof_that_is_too_old_is_asked_for_again(client, stale):
    client.get("/auth/check", headers={**stale, **GET}, status=204)
    refused = client.get("/auth/check?fresh", headers={**stale, **GET}, status=401)
    assert refused.headers["WWW-Authenticate"] == f'{FRESH}, max_age="900"'
    assert client.get("/auth/check?fresh", headers={**stale, **PAGE}).location == TO_CONFIRM


@pytest.mark.parametrize("query", ["fresh", "fresh=", "fresh=0"])
def test_a_recent_proof_is_fresh(client, cookie, query):
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
@pytest.mark.parametrize("query", ["", "?permission=a.b", "?fresh"])
def test_without_its_database_it_admits_no_one(client, cookie, query):
    client.get("/auth/check", headers={**cookie, **GET}, status=204)
    User._meta.database.execute_sql("ALTER TABLE wsgiauth_session RENAME TO gone")
    headers = {**cookie, **PAGE}
    refused = client.get(f"/auth/check{query}", headers=headers, status=503)
    assert "Remote-User" not in refused.headers
