"""Where a page says that its forms come from, and what it says of its address to others."""

import html
import re
import time
from dataclasses import replace

import peewee
import pytest
from webtest import TestApp

from tests.support.mails import MAIL, Post, with_mail
from tests.support.referrers import (
    headers_of_form,
    origin_of,
    origin_of_form,
    referrer_of,
    secrets_sent_from,
)
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, SECRET_KEY, echo
from tests.web.pages import EXAMPLES, REQUEST
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.testing import logged_in
from wsgiauth.web.pages import Pages

NEW = "ada@example.net"
SECRET = "secret"
QUERY = f"?token={SECRET}&code={SECRET}&state={SECRET}"
PROVIDER = "idp:https://client:of-the-client@idp.example.org"
# Paths whose query has a secret.
PATHS = ("/auth/reset", "/auth/restore", "/auth/verify", "/auth/oidc/idp/callback")

# The table of the two standards, for the policies that are worth a thought here.


POLICIES = [
    ("no-referrer", "https://a.example/y", "null", ""),
    ("same-origin", "https://a.example/y", "https://a.example", "https://a.example/x?t=1"),
    ("same-origin", "https://b.example/y", "null", ""),
    ("strict-origin", "https://a.example/y", "https://a.example", "https://a.example/"),
    ("strict-origin", "https://b.example/y", "https://a.example", "https://a.example/"),
    ("strict-origin", "http://a.example/y", "null", ""),
]


def test_a_browser_says_where_a_form_comes_from_as_the_page_wishes():
    page = "https://a.example/x?t=1"
    for policy, target, origin, referrer in POLICIES:
        assert origin_of_form(policy, page, target) == origin
        assert referrer_of(policy, page, target) == referrer


# Every page.


def origins_of_forms(page):
    """Return the Origin headers of the forms that a page sends to this site by POST."""
    forms = [each for each in re.findall(r"<form\b[^>]*>", page.text) if 'method="post"' in each]
    actions = [re.search(r'\baction="([^"]*)"|$', each)[1] or "" for each in forms]
    here = [each for each in map(html.unescape, actions) if not each.startswith("https://")]
    return {headers_of_form(page, each)["Origin"] for each in here}


@pytest.mark.promise(17)
def test_the_forms_of_a_page_say_that_they_come_from_this_site():
    pages = Pages("/auth")
    found = [
        (page.template, origins_of_forms(TestApp(pages.render(REQUEST, page)).get("/", status="*")))
        for page in EXAMPLES
    ]
    assert [(name, origins) for name, origins in found if origins - {"http://localhost"}] == []
    assert len([origins for _, origins in found if origins]) > len(found) / 2


# Pages whose address has a secret.


@pytest.fixture
def site(settings):
    """Return a site that has all of these URLs, and on every page a form for the language."""
    provider = Settings.from_mapping(
        {"SECRET_KEY": SECRET_KEY, "OIDC_PROVIDERS": PROVIDER, **MAIL}
    ).OIDC_PROVIDERS
    settings = with_mail(settings, OIDC_PROVIDERS=provider, LANGUAGES=("en", "de"))
    yield AuthMiddleware(echo, settings, send_mail=Post())
    storage.discard_connection(storage.current())


def reset_link(site, ada):
    return make_reset_link(ada, site.site.settings, mount="/auth", now=time.time())


def address_link(site, ada):
    return make_address_link(ada, NEW, site.site.settings, mount="/auth", now=time.time())


def invitation(site, ada):
    invited = Invitation(email=NEW, username="Grace")
    now = time.time()
    return issue_invitation(invited, None, site.site.settings, mount="/auth", now=now)


@pytest.mark.promise(33)
@pytest.mark.parametrize("make_link", [reset_link, address_link, invitation])
def test_an_older_browser_sends_the_form_of_a_link_and_no_secret(site, ada, make_link):
    client = logged_in(site, ada)
    link = make_link(site, ada).removeprefix(MAIL["PUBLIC_URL"])
    page = client.get(link, headers=BROWSER)
    assert secrets_sent_from(page, link.partition("=")[2]) == []
    form = next(each for each in page.forms.values() if "token" in each.fields)
    if "password" in form.fields:
        form["password"] = f"{PASSWORD} again"
    form.submit(headers=headers_of_form(page), status=303)


def test_a_page_on_the_way_to_a_link_sends_no_secret_on(site, ada):
    for client, path in ((TestApp(site), "login"), (logged_in(site, ada), "confirm")):
        url = f"/auth/{path}?next=/auth/verify?token={SECRET}"
        page = client.get(url, headers=BROWSER, status=200)
        assert secrets_sent_from(page, SECRET) == []


def check_language_form(answer):
    """Check that an older browser can send the form at the foot of a page, if there is one."""
    for form in answer.html.select("form.languages") if answer.content_type == "text/html" else ():
        origin = headers_of_form(answer, form["action"])["Origin"]
        assert origin == origin_of(answer.request.url)


FORM = {**SAME_ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
FOREIGN = {**FORM, "Sec-Fetch-Site": "cross-site"}
# The statuses of the links in emails, and of the return from a provider.
ANSWERS = [
    ("GET", BROWSER, b"", (410, 400)),  # it has ended
    ("HEAD", BROWSER, b"", (410, 405)),
    ("PUT", FORM, b"", (405, 405)),
    ("POST", FOREIGN, b"x=y", (403, 405)),
    ("POST", FORM, b"%FF", (400, 405)),  # malformed
    ("POST", FORM, b"x" * 20_000, (413, 405)),
    ("POST", {**BROWSER, "Content-Type": "x/y"}, b"x", (415, 405)),
]


def test_no_answer_at_a_url_with_a_secret_sends_the_secret_on(site):
    client = TestApp(site)
    for path in PATHS:
        for method, headers, body, statuses in ANSWERS:
            url = path + QUERY
            answer = client.request(url, method=method, headers=headers, body=body, status="*")
            assert (url, answer.status_int) == (url, statuses["callback" in path])
            assert secrets_sent_from(answer, SECRET) == []
            check_language_form(answer)


def test_a_url_that_is_off_sends_no_secret_on(settings):
    client = TestApp(AuthMiddleware(echo, replace(settings, LANGUAGES=("en", "de"))))
    for path in PATHS:
        answer = client.get(path + QUERY, headers=BROWSER, status=404)
        assert secrets_sent_from(answer, SECRET) == []
        check_language_form(answer)


def test_a_url_without_a_database_sends_no_secret_on(site, ada, monkeypatch):
    def fail(*arguments, **options):
        raise peewee.OperationalError("away")

    client = logged_in(site, ada)
    monkeypatch.setattr("wsgiauth.authentication.sessions.Sessions.find", fail)
    monkeypatch.setattr("wsgiauth.authentication.one_time.find", fail)
    monkeypatch.setattr("wsgiauth.authentication.one_time.find_lasting", fail)
    for path in PATHS:
        answer = client.get(path + QUERY, headers=BROWSER, status=503)
        assert secrets_sent_from(answer, SECRET) == []
        check_language_form(answer)
