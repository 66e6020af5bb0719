"""Each way to log in leads from the request of an app back to the app.

A link in an email does not: it can be opened in another browser, long after the request has ended.
"""

import json
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.authenticators import PASSKEYS, Authenticator, add_passkey, options_of
from tests.support.factors import FACTOR_KEY
from tests.support.factors import App as Phone
from tests.support.mails import MAIL, Post
from tests.support.oauth_apps import App, answer_in, follow
from tests.support.provider_logins import connect
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in, mailbox

STATE = json.dumps({f"key {each}": [each] for each in range(90)})  # of 1,400 characters


@pytest.fixture
def further():
    """Return the settings of a site with each way to log in."""
    return {"FACTOR_KEY": FACTOR_KEY, "LOGIN_CODES": True, **MAIL}


@pytest.fixture
def site(settings):
    site = AuthMiddleware(echo, settings, send_mail=Post())
    mailbox(site)  # so that no thread sends
    yield site
    site.site.outbox.stop()
    for each in (site.database, storage.current()):
        storage.discard_connection(each)


@pytest.fixture
def wiki(site):
    """Return an app that asks for no consent, and so answers after the login."""
    return App(site, is_trusted=True)


@pytest.fixture
def guest(site):
    """Return an anonymous browser."""
    return TestApp(site, {"HTTP_HOST": "localhost:80"})


def login_page(guest, wiki, **changes):
    """Return the page to which a request of the app leads."""
    answer = guest.get(
        wiki.url(state=STATE, prompt="login", **changes), headers=BROWSER, status=303
    )
    return guest.get(answer.location, headers=BROWSER, status=200)


def send(form, status=303, action=None, **fields):
    """Send a form; return the answer."""
    for name, value in fields.items():
        form[name].force_value(value)
    form.action = action or form.action
    return form.submit(headers=SAME_ORIGIN, status=status)


def form_with(page, field):
    return next(each for each in page.forms.values() if field in each.fields)


def comes_back(guest, answer):
    """Return whether redirects lead from an answer to the app with a code."""
    found = answer_in(follow(guest, answer.location).location)
    return "code" in found and found["state"] == STATE


def test_the_password(guest, ada, wiki):
    form = form_with(login_page(guest, wiki), "password")
    assert comes_back(guest, send(form, username=USERNAME, password=PASSWORD))


def test_the_password_after_a_wrong_one(guest, ada, wiki):
    form = form_with(login_page(guest, wiki), "password")
    page = send(form, 401, username=USERNAME, password="wrong")
    form = form_with(page, "password")
    assert comes_back(guest, send(form, username=USERNAME, password=PASSWORD))


def test_a_new_account(guest, wiki):
    link = login_page(guest, wiki).html.find("a", string="Create an account")
    page = guest.get(link["href"], headers=BROWSER, status=200)
    assert "https://wiki.example.org" in page.headers["Content-Security-Policy"]
    fields = {"username": "eve", "email": "eve@example.org", "password": PASSWORD}
    assert comes_back(guest, send(form_with(page, "email"), **fields))


def test_a_code_by_email(guest, ada, wiki, site):
    proof = {"email_verified_at": utc_now(), "email_verified_by": PROVEN_BY_LINK}
    User.update(proof).where(User.id == ada.id).execute()
    form = form_with(login_page(guest, wiki), "password")
    answer = send(form, action="/auth/code", username=USERNAME, password="")
    page = guest.get(answer.location, headers=BROWSER, status=200)
    assert "https://wiki.example.org" in page.headers["Content-Security-Policy"]
    assert comes_back(guest, send(form_with(page, "code"), code=mailbox(site).codes[-1]))


@pytest.mark.parametrize("further", [{"FACTOR_KEY": FACTOR_KEY, **MAIL, **PASSKEYS}], ids=[""])
def test_a_passkey(site, ada, wiki):
    guest = TestApp(site, {"HTTP_HOST": "localhost:8080"})
    key = add_passkey(site, ada, authenticator=Authenticator())
    page = login_page(guest, wiki)
    credential = key.get(options_of(page))
    fields = {"credential": credential, "next": page.form["next"].value}
    answer = guest.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)
    answer = guest.get(answer.location, headers=BROWSER, status=303)
    assert "code" in answer_in(answer.location)


@pytest.fixture
def with_google(site, settings, provider, ada):
    """Return a site with the accounts of a provider, of which Ada has connected one."""
    entries = (provider.entry("google"),)
    made = AuthMiddleware(echo, replace(settings, OIDC_PROVIDERS=entries), send_mail=Post())
    connect(ada, provider)
    yield made
    made.site.outbox.stop()
    storage.discard_connection(made.database)


@pytest.mark.parametrize("subject", ["ada", "grace"], ids=["known", "new"])
def test_an_account_of_a_provider(with_google, wiki, provider, subject):
    guest = TestApp(with_google, {"HTTP_HOST": "localhost:80"})
    form = form_with(login_page(guest, wiki), "password")
    answer = send(form, action="/auth/oidc/google", password="")
    query = provider.authorize(answer.location, subject)
    callback = f"/auth/oidc/google/callback?{query}"
    answer = guest.get(callback, headers=BROWSER, status=303)
    if subject == "grace":
        page = guest.get(answer.location, headers=BROWSER, status=200)
        assert "https://wiki.example.org" in page.headers["Content-Security-Policy"]
        answer = send(form_with(page, "username"), username="Grace")
    assert comes_back(guest, answer)


@pytest.mark.parametrize(
    "further", [{"FACTOR_KEY": FACTOR_KEY, "SECOND_FACTOR": "all", **MAIL}], ids=[""]
)
def test_the_set_up_of_a_second_factor(site, guest, ada, wiki):
    answer = send(
        form_with(login_page(guest, wiki), "password"), username=USERNAME, password=PASSWORD
    )
    answer = send(form_with(follow(guest, answer.location), "name"))
    page = guest.get(answer.location, headers=BROWSER, status=200)
    phone = Phone(page.html.find(class_="key").text.replace(" ", ""), site)
    page = send(form_with(page, "code"), code=phone.code())
    page = guest.get(page.location, headers=BROWSER, status=200)
    links = [each["href"] for each in page.html.main.find_all("a") if "authorize" in each["href"]]
    assert "code" in answer_in(follow(guest, links[0]).location)


def test_who_is_logged_in_already_can_go_on(site, ada, wiki):
    browser = logged_in(site, ada)
    page = browser.get("/auth/login", {"next": wiki.url(state=STATE)}, headers=BROWSER, status=200)
    link = page.html.find("a", string="Continue")
    assert "code" in answer_in(follow(browser, link["href"]).location)
