"""`next` after a detour by email: it comes back in the browser that asked, and in no other."""

from time import time
from urllib.parse import parse_qs, urlsplit

import pytest
from webtest import TestApp

from tests.support.mails import with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.testing import mailbox, make_user

NEXT = "/auth/authorize?client_id=wiki&state=a+b"
OTHER_KEY = SECRET_KEY[::-1]
COOKIE = "wsgiauth-detour-"
# What the forms that ask for an email send, by their URLs.
FORMS = {
    "/auth/forgot": {"username": USERNAME},
    "/auth/code": {"username": USERNAME},
    "/auth/register": {"username": "Lin", "email": "lin@example.org"},
}


@pytest.fixture
def make_site(settings):
    made = []

    def make(**changes):
        options = {"MAIL_URL": "memory:", "LOGIN_CODES": True, **changes}
        made.append(AuthMiddleware(echo, with_mail(settings, **options)))
        mailbox(made[-1])
        return made[-1]

    yield make
    for each in made:
        storage.discard_connection(each.database)


@pytest.fixture
def site(make_site):
    site = make_site(VERIFICATION=True)
    make_user(site, USERNAME, email=EMAIL, password=PASSWORD)
    return site


def ask(client, url="/auth/forgot", **fields):
    """Ask for an email in a form with `next`."""
    sent = {"next": NEXT, **FORMS[url], **fields}
    return client.post(url, sent, headers=SAME_ORIGIN, status="*")


def follow_link(client, site):
    """Open the last link, fill in the form, and return where it leads."""
    url = mailbox(site).links[-1].removeprefix("https://example.org")
    form = client.get(url, headers=BROWSER).form
    form["password"] = "other unrelated birds"
    return form.submit(headers=SAME_ORIGIN, status=303).headers["Location"]


def next_of(location):
    return parse_qs(urlsplit(location).query).get("next", [""])[0]


def cookies_of(client):
    return [name for name in client.cookies if name.startswith(COOKIE)]


def test_a_forgotten_password_leads_back_to_the_page_that_needed_the_login(site):
    client = TestApp(site)
    login = client.get("/auth/login", {"next": NEXT}, headers=BROWSER)
    form = login.click("Forgot it").form
    form["username"] = USERNAME
    sent = form.submit(headers=SAME_ORIGIN, status=202)
    assert [next_of(each["href"]) for each in sent.html.select("main a")] == [NEXT, NEXT]
    location = follow_link(client, site)
    assert cookies_of(client) == []
    login = client.get(location, headers=BROWSER)
    login.mustcontain("Your password has been changed")
    login.form["username"], login.form["password"] = USERNAME, "other unrelated birds"
    assert login.form.submit(headers=SAME_ORIGIN, status=303).headers["Location"] == NEXT


def test_a_registration_by_a_link_leads_back_too(site):
    client = TestApp(site)
    login = client.get("/auth/login", {"next": NEXT}, headers=BROWSER)
    form = login.click("Create an account").form
    form["username"], form["email"] = "Lin", "lin@example.org"
    form.submit(headers=SAME_ORIGIN, status=303)
    assert follow_link(client, site) == NEXT
    assert cookies_of(client) == []


def test_so_does_the_link_that_comes_instead_of_a_code(site):
    client = TestApp(site)
    ask(client, "/auth/code")
    assert next_of(follow_link(client, site)) == NEXT


def test_in_a_browser_with_a_session_a_new_account_leads_to_the_login(site):
    client = TestApp(site)
    ask(client, "/auth/register")
    make_user(site, "Grace", password=PASSWORD)
    login = {"username": "Grace", "password": PASSWORD}
    client.post("/auth/login", login, headers=SAME_ORIGIN, status=303)
    location = follow_link(client, site)
    assert (location.partition("?")[0], next_of(location)) == ("/auth/login", NEXT)


@pytest.mark.promise(34)
@pytest.mark.parametrize("url", FORMS)
def test_another_browser_is_led_nowhere_and_no_email_has_the_page(site, url):
    ask(TestApp(site), url)
    assert "authorize" not in str(mailbox(site)[-1])
    location = follow_link(TestApp(site), site)
    assert location == ("/" if url == "/auth/register" else "/auth/login?done=reset")


@pytest.mark.promise(32, 38)
@pytest.mark.parametrize("url", FORMS)
def test_every_name_gets_a_cookie(site, url):
    # As long as the others: the sealed cookie for another email has the typed name.
    names = ({}, {"username": "Eve", "email": "eve@example.org"}, {"email": EMAIL})
    clients = [TestApp(site) for _ in names]
    answers = [
        ask(client, url, **name).headers.getall("Set-Cookie")
        for client, name in zip(clients, names, strict=True)
    ]
    forms = [[(len(each), each.partition(";")[2]) for each in sent] for sent in answers]
    assert forms[0] == forms[1] == forms[2]
    assert [len(cookies_of(client)) for client in clients] == [1, 1, 1]


def test_a_later_email_without_a_page_leads_nowhere(site):
    client = TestApp(site)
    ask(client)
    ask(client, next="")
    assert cookies_of(client) == []
    assert next_of(follow_link(client, site)) == ""


def test_of_several_pages_the_last_one_comes_back(site):
    client = TestApp(site)
    for page in ("/first", "/second"):
        ask(client, next=page)
    assert next_of(follow_link(client, site)) == "/second"
    assert cookies_of(client) == []


@pytest.mark.promise(18)
def test_a_cookie_leads_to_no_other_site(site):
    client = TestApp(site)
    ask(client, next="https://evil.example/")
    assert cookies_of(client) == []


def test_a_cookie_is_sealed_and_a_rotation_of_keys_keeps_it(make_site, settings):
    for key, fallbacks, found in (
        (SECRET_KEY, (), NEXT),
        (OTHER_KEY, (SECRET_KEY,), NEXT),
        (OTHER_KEY, (), ""),
    ):
        before, after = make_site(), make_site(SECRET_KEY=key, SECRET_KEY_FALLBACKS=fallbacks)
        name = f"user-{key[0]}-{len(fallbacks)}"
        make_user(after, name, password=PASSWORD)
        client = TestApp(before)
        ask(client, username="nobody")
        client.app = after
        ask(TestApp(after), username=name)
        assert next_of(follow_link(client, after)) == found


def test_a_forged_cookie_leads_nowhere(site):
    client = TestApp(site)
    ask(client)
    (name,) = cookies_of(client)
    payload, _, seal = client.cookies[name].strip('"').partition(".")
    client.set_cookie(name, f"{payload[:-4]}AAAA.{seal}")
    assert next_of(follow_link(client, site)) == ""


def test_a_cookie_ends_with_the_link(site):
    client, tokens = TestApp(site), site.site.tokens
    tokens.now = lambda: time() - 3601
    ask(client)
    tokens.now = time
    ask(TestApp(site))
    assert next_of(follow_link(client, site)) == ""
