"""/auth/check for hosts that share the login of another one."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.sites import BROWSER, USERNAME, echo
from wsgiauth import AuthMiddleware
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.features.forward_auth.questions import QUESTIONS
from wsgiauth.features.registry import FEATURES
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
    def location(host, uri):
        headers = {**PAGE, "X-Forwarded-Host": host, "X-Forwarded-Uri": uri}
        return client.get("/auth/check", headers=headers, status=302).location

    files = FORWARDED["X-Forwarded-Host"]
    ways = {
        (files, "/report.txt?a=b"): f"{TO_LOGIN}?{NEXT}",
        ("a.b.example.org", "/"): f"{TO_LOGIN}?next=https%3A%2F%2Fa.b.example.org%2F",
        ("shop.example.net:8443", "/a"): (
            f"{TO_LOGIN}?next=https%3A%2F%2Fshop.example.net%3A8443%2Fa"
        ),
    }
    assert {way: location(*way) for way in ways} == ways
    hostile = [
        "//evil.example/",
        "@evil.example/",
        ".evil.example/",
        ":444/",
        "https://evil.example/",
        "/a%0d%0ab",
        "x",
    ]
    assert {uri: location(files, uri) for uri in hostile} == dict.fromkeys(hostile, TO_LOGIN)


OTHER_HOSTS = {
    "the host of the login": "auth.example.org",
    "another site": "evil.example",
    "the domain itself": "example.org",
    "upper case": "Files.example.org",
    "a port": "files.example.org:8443",
    "two hosts": "files.example.org, evil.example",
    "two hosts, the other way round": "evil.example, files.example.org",
    "a path": "evil.example/.example.org",
    "a fragment": "evil.example#.example.org",
    "a user": "ada@files.example.org",
    "a dot at the end": "files.example.org.",
    "the pattern": "*.example.org",
    "a space": " ",
    "a long label": f"{'a' * 64}.example.org",
}


@pytest.mark.promise(85)
def test_for_every_other_host_the_way_is_a_path(client):
    def location(**headers):
        return client.get("/auth/check", headers=headers, status=302).location

    path = "/auth/login?next=%2Freport.txt%3Fa%3Db"
    found = {
        name: location(**{**PAGE, "X-Forwarded-Host": host}) for name, host in OTHER_HOSTS.items()
    }
    assert found == dict.fromkeys(OTHER_HOSTS, path)
    headers = {name: value for name, value in PAGE.items() if name != "X-Forwarded-Host"}
    assert location(**headers, Host="files.example.org") == path


def test_without_the_path_the_answer_is_a_challenge(client):
    client.get("/auth/check", headers={**BROWSER, **FORWARDED}, status=401)


def test_a_form_leads_back_to_its_page_at_the_other_host_or_else_to_its_target(client):
    backs = {
        "https://files.example.org/form?a": ("next=https%3A%2F%2Ffiles.example.org%2Fform%3Fa"),
        "https://evil.example.org/form": NEXT,
    }
    for page, back in backs.items():
        form = {"X-Forwarded-Method": "POST", "Referer": page}
        sent = client.get("/auth/check", headers={**PAGE, **form}, status=302)
        assert sent.location == f"{TO_LOGIN}?done=unsent&{back}"
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
    assert page.html.select_one(".site > :last-child").text == "Library"
    own = {**headers, "X-Forwarded-Host": "auth.example.org"}
    page = client.get("/auth/check?permission=a.b", headers=own, status=403)
    assert page.html.find("form")
    assert page.html.find("img")["src"] == "/logo.svg"


# What a request with an unsafe method came from, and whether the cookie counts.
NO_FORWARDED_HOST = {"X-Forwarded-Method": "POST", "Host": "files.example.org", **OWN}
OF_THE_HOST = {
    "a form": POST | OWN,
    "a form of an old browser": POST | {"Origin": OWN["Origin"]},
    "a form of a trusted origin": POST | {"Origin": "https://spa.example.com"},
    "a link": FORWARDED,
    "a WebSocket": FORWARDED | {"Sec-WebSocket-Key": "x"} | OWN,
    "no forwarded host": NO_FORWARDED_HOST | {"X-Forwarded-Proto": "https"},
}
NOT_OF_THE_HOST = {
    "redirected by another site": POST | OWN | {"Sec-Fetch-Site": "cross-site"},
    "of a neighbour": (POST | {"Origin": "https://app.example.org", "Sec-Fetch-Site": "same-site"}),
    "of a neighbour, by the Origin alone": POST | OWN | {"Origin": "https://app.example.org"},
    "of the host by http": POST | OWN | {"Origin": "http://files.example.org"},
    "of another port": POST | OWN | {"Origin": "https://files.example.org:8443"},
    "a hidden Origin": POST | OWN | {"Origin": "null"},
    "no Origin": POST | {"Sec-Fetch-Site": "same-origin"},
    "a program": POST,
    "a proxy that had no https": POST | OWN | {"X-Forwarded-Proto": "http"},
    "a WebSocket of a neighbour": (
        FORWARDED | {"Sec-WebSocket-Key": "x", "Origin": "https://app.example.org"}
    ),
    "not https": NO_FORWARDED_HOST,
}


@pytest.mark.promise(85)
def test_only_its_own_pages_change_anything_at_a_host(settings, cookie):
    trusting = replace(settings, TRUSTED_ORIGINS=("https://spa.example.com",))
    client = TestApp(AuthMiddleware(echo, trusting))

    def seen(headers):
        checked = client.get("/auth/check", headers={**cookie, **headers}, status="*")
        return checked.status_int, checked.headers.get("Remote-User")

    assert {name: seen(each) for name, each in OF_THE_HOST.items()} == dict.fromkeys(
        OF_THE_HOST, (204, USERNAME)
    )
    assert {name: seen(each) for name, each in NOT_OF_THE_HOST.items()} == dict.fromkeys(
        NOT_OF_THE_HOST, (401, None)
    )


def test_the_check_warns_of_hosts_that_get_no_cookie(settings):
    def found(**changes):
        site = Site.from_settings(replace(settings, **changes), "/auth", FEATURES)
        return [each.sentence for question in QUESTIONS for each in question.ask(site)]

    (outside,) = found()
    assert outside.startswith("NEXT_HOSTS has shop.example.net:8443, but COOKIE_DOMAIN is")
    (unset,) = found(COOKIE_DOMAIN=None, NEXT_HOSTS=("auth.example.org", "*.example.org"))
    assert unset.startswith("NEXT_HOSTS has *.example.org, but COOKIE_DOMAIN is not set")
    assert found(NEXT_HOSTS=("*.a.example.org", "example.org:8443")) == []
    assert found(FORWARD_AUTH=False) == []
