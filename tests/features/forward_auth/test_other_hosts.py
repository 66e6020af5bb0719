"""/auth/check for hosts that share the login of another one."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.sites import BROWSER, USERNAME, echo
from wsgiauth import AuthMiddleware
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.features import FEATURES
from wsgiauth.features.forward_auth.questions import QUESTIONS
from wsgiauth.site import Site

FORWARDED = {
    "X-Forwarded-Method": "GET",
    "X-Forwarded-Host": "files.example.org",
    "X-Forwarded-Proto": "https",
}
PAGE = {**BROWSER, **FORWARDED, "X-Forwarded-Uri": "/report.txt?a=b"}
POST = {**FORWARDED, "X-Forwarded-Method": "POST"}
OWN = {"Origin": "https://files.example.org", "Sec-Fetch-Site": "same-origin"}
TO_LOGIN = "https://auth.example.org/site/auth/login"
NEXT = "next=https%3A%2F%2Ffiles.example.org%2Freport.txt%3Fa%3Db"
SHARING = {
    "FORWARD_AUTH": True,
    "COOKIE_DOMAIN": "example.org",
    "NEXT_HOSTS": ("*.example.org", "shop.example.net:8443"),
    "PUBLIC_URL": "https://auth.example.org/site",
}


@pytest.fixture
def settings(settings):
    """Return the settings of a login for all hosts of a domain."""
    return replace(settings, **SHARING)


@pytest.fixture
def cookie(ada, tokens):
    """Return the header of a browser's session."""
    return {"Cookie": f"__Secure-wsgiauth={sessions.start(ada, tokens).token}"}


@pytest.mark.promise(85)
def test_a_browser_is_sent_to_the_login_of_the_other_host_and_back(client):
    sent = client.get("/auth/check", headers=PAGE, status=302)
    assert sent.location == f"{TO_LOGIN}?{NEXT}"


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    ("host", "uri", "expected"),
    [
        pytest.param("a.b.example.org", "/", "https%3A%2F%2Fa.b.example.org%2F", id="below"),
        pytest.param(
            "shop.example.net:8443", "/a", "https%3A%2F%2Fshop.example.net%3A8443%2Fa", id="a port"
        ),
        pytest.param("files.example.org", "//evil.example/", "", id="two slashes"),
        pytest.param("files.example.org", "@evil.example/", "", id="no slash, and a user"),
        pytest.param("files.example.org", ".evil.example/", "", id="no slash, and a longer name"),
        pytest.param("files.example.org", ":444/", "", id="no slash, and a port"),
        pytest.param("files.example.org", "https://evil.example/", "", id="a URL"),
        pytest.param("files.example.org", "/a%0d%0ab", "", id="an encoded line feed"),
        pytest.param("files.example.org", "", "", id="nothing"),
    ],
)
def test_the_way_back_is_at_the_host_that_was_asked_for(client, host, uri, expected):
    headers = {**PAGE, "X-Forwarded-Host": host, "X-Forwarded-Uri": uri}
    if not uri:
        headers["X-Forwarded-Uri"] = "x"
    sent = client.get("/auth/check", headers=headers, status=302)
    assert sent.location == TO_LOGIN + (f"?next={expected}" if expected else "")


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    "host",
    [
        pytest.param("auth.example.org", id="the host of the login"),
        pytest.param("evil.example", id="another site"),
        pytest.param("example.org", id="the domain itself"),
        pytest.param("Files.example.org", id="upper case"),
        pytest.param("files.example.org:8443", id="a port"),
        pytest.param("files.example.org, evil.example", id="two hosts"),
        pytest.param("evil.example, files.example.org", id="two hosts, the other way round"),
        pytest.param("evil.example/.example.org", id="a path"),
        pytest.param("evil.example#.example.org", id="a fragment"),
        pytest.param("ada@files.example.org", id="a user"),
        pytest.param("files.example.org.", id="a dot at the end"),
        pytest.param("*.example.org", id="the pattern"),
        pytest.param(" ", id="a space"),
        pytest.param(f"{'a' * 64}.example.org", id="a long label"),
    ],
)
def test_for_every_other_host_the_way_is_a_path(client, host):
    sent = client.get("/auth/check", headers={**PAGE, "X-Forwarded-Host": host}, status=302)
    assert sent.location == "/auth/login?next=%2Freport.txt%3Fa%3Db"


def test_without_a_forwarded_host_the_way_is_a_path(client):
    headers = {name: value for name, value in PAGE.items() if name != "X-Forwarded-Host"}
    headers["Host"] = "files.example.org"
    sent = client.get("/auth/check", headers=headers, status=302)
    assert sent.location == "/auth/login?next=%2Freport.txt%3Fa%3Db"


def test_without_the_path_the_answer_is_a_challenge(client):
    client.get("/auth/check", headers={**BROWSER, **FORWARDED}, status=401)


def test_a_form_leads_back_to_its_page_at_the_other_host(client):
    form = {"X-Forwarded-Method": "POST", "Referer": "https://files.example.org/form?a"}
    sent = client.get("/auth/check", headers={**PAGE, **form}, status=302)
    back = "https%3A%2F%2Ffiles.example.org%2Fform%3Fa"
    assert sent.location == f"{TO_LOGIN}?done=unsent&next={back}"


def test_a_form_from_elsewhere_leads_back_to_its_target(client):
    form = {"X-Forwarded-Method": "POST", "Referer": "https://evil.example.org/form"}
    sent = client.get("/auth/check", headers={**PAGE, **form}, status=302)
    assert sent.location == f"{TO_LOGIN}?done=unsent&{NEXT}"


def test_htmx_leaves_the_page_of_the_other_host(client):
    htmx = {"HX-Request": "true", "HX-Current-URL": "https://files.example.org/list"}
    sent = client.get("/auth/check", headers={**PAGE, **htmx}, status=401)
    back = "https%3A%2F%2Ffiles.example.org%2Flist"
    assert sent.headers["HX-Redirect"] == f"{TO_LOGIN}?next={back}"


def test_a_proof_that_is_too_old_is_asked_for_at_the_login(client, cookie):
    Session.update(authenticated_at=0).execute()
    sent = client.get("/auth/check?fresh", headers={**cookie, **PAGE}, status=302)
    assert sent.location == f"{TO_LOGIN.replace('login', 'confirm')}?{NEXT}"


def test_a_second_factor_is_set_up_at_the_login(settings, ada, tokens):
    client = TestApp(AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY)))
    headers = {**PAGE, "Cookie": f"__Secure-wsgiauth={sessions.start(ada, tokens).token}"}
    sent = client.get("/auth/check?second_factor", headers=headers, status=302)
    assert sent.location == f"{TO_LOGIN.replace('login', 'totp')}?{NEXT}"


def test_a_refusal_at_another_host_links_to_the_login_and_has_no_form(settings, ada, tokens):
    changes = {"LANGUAGES": ("en", "de"), "SITE_NAME": "Library", "SITE_LOGO": "/logo.svg"}
    changes["SITE_LOGO_DARK"] = "/dark.svg"
    client = TestApp(AuthMiddleware(echo, replace(settings, **changes)))
    headers = {**PAGE, "Cookie": f"__Secure-wsgiauth={sessions.start(ada, tokens).token}"}
    page = client.get("/auth/check?permission=a.b", headers=headers, status=403)
    links = [each["href"] for each in page.html.find_all("a")]
    assert links == [f"{TO_LOGIN}?switch=1&{NEXT}", "https://auth.example.org/site/"]
    assert page.html.find_all(["form", "img", "source"]) == []
    assert page.html.find("p", "site").text == "Library"
    own = {**headers, "X-Forwarded-Host": "auth.example.org"}
    page = client.get("/auth/check?permission=a.b", headers=own, status=403)
    assert page.html.find("form")
    assert page.html.find("img")["src"] == "/logo.svg"


# What a request with an unsafe method came from, and whether the cookie counts.
@pytest.mark.promise(85)
@pytest.mark.parametrize(
    ("headers", "is_used"),
    [
        pytest.param(POST | OWN, True, id="a form of the host"),
        pytest.param(POST | {"Origin": OWN["Origin"]}, True, id="of an old browser"),
        pytest.param(
            POST | OWN | {"Sec-Fetch-Site": "cross-site"}, False, id="redirected by another site"
        ),
        pytest.param(
            POST | OWN | {"Origin": "https://app.example.org", "Sec-Fetch-Site": "same-site"},
            False,
            id="of a neighbour",
        ),
        pytest.param(
            POST | OWN | {"Origin": "https://app.example.org"}, False, id="by the Origin alone"
        ),
        pytest.param(POST | OWN | {"Origin": "http://files.example.org"}, False, id="http"),
        pytest.param(POST | OWN | {"Origin": "https://files.example.org:8443"}, False, id="port"),
        pytest.param(POST | OWN | {"Origin": "null"}, False, id="hidden"),
        pytest.param(POST | {"Sec-Fetch-Site": "same-origin"}, False, id="no Origin"),
        pytest.param(POST, False, id="a program"),
        pytest.param(
            POST | OWN | {"X-Forwarded-Proto": "http"}, False, id="a proxy that had no https"
        ),
        pytest.param(POST | {"Origin": "https://spa.example.com"}, True, id="a trusted origin"),
        pytest.param(FORWARDED, True, id="a link"),
        pytest.param(
            FORWARDED | {"Sec-WebSocket-Key": "x"} | OWN, True, id="a WebSocket of the host"
        ),
        pytest.param(
            FORWARDED | {"Sec-WebSocket-Key": "x", "Origin": "https://app.example.org"},
            False,
            id="a WebSocket of a neighbour",
        ),
        pytest.param(
            {"X-Forwarded-Method": "POST", "Host": "files.example.org"} | OWN, False, id="not https"
        ),
        pytest.param(
            {
                "X-Forwarded-Method": "POST",
                "X-Forwarded-Proto": "https",
                "Host": "files.example.org",
                **OWN,
            },
            True,
            id="no forwarded host",
        ),
    ],
)
def test_only_its_own_pages_change_anything_at_a_host(settings, cookie, headers, is_used):
    trusting = replace(settings, TRUSTED_ORIGINS=("https://spa.example.com",))
    client = TestApp(AuthMiddleware(echo, trusting))
    checked = client.get("/auth/check", headers={**cookie, **headers}, status="*")
    assert checked.status_int == (204 if is_used else 401)
    assert checked.headers.get("Remote-User") == (USERNAME if is_used else None)


@pytest.mark.parametrize(
    ("changes", "outside"),
    [
        pytest.param({}, "NEXT_HOSTS has shop.example.net:8443, but COOKIE_DOMAIN is", id="one"),
        pytest.param(
            {"COOKIE_DOMAIN": None, "NEXT_HOSTS": ("auth.example.org", "*.example.org")},
            "NEXT_HOSTS has *.example.org, but COOKIE_DOMAIN is not set",
            id="no domain",
        ),
        pytest.param({"NEXT_HOSTS": ("*.a.example.org", "example.org:8443")}, "", id="none"),
        pytest.param({"FORWARD_AUTH": False}, "", id="no forward authentication"),
    ],
)
def test_the_check_warns_of_hosts_that_get_no_cookie(settings, changes, outside):
    site = Site.from_settings(replace(settings, **changes), "/auth", FEATURES)
    found = [each.sentence for question in QUESTIONS for each in question.ask(site)]
    assert len(found) == bool(outside)
    assert all(each.startswith(outside) for each in found)
