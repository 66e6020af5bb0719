"""`prompt=create`: the app lets its user register (OpenID Connect Prompt Create 1.0)."""

import pytest
from webtest import TestApp

from tests.features.oauth_server.test_authorize import log_in_here, open_page, path_of
from tests.support.oauth_apps import CONSENT, App, answer_in, walk
from tests.support.sites import SAME_ORIGIN
from wsgiauth import User
from wsgiauth.testing import provider_account

METADATA = "/.well-known/openid-configuration"


@pytest.fixture
def anonymous(site):
    """Return a browser that is not logged in."""
    return TestApp(site, {"HTTP_HOST": "localhost:80"})


def registered(client, page):
    """Create an account by the form of a page; return the answer."""
    form = next(each for each in page.forms.values() if "email" in each.fields)
    form["username"], form["email"] = "Niaj", "niaj@example.org"
    form["password"] = "four unrelated words"
    return form.submit(headers=SAME_ORIGIN, status=303)


@pytest.mark.parametrize("state", ["x", "x" * 3000], ids=["short", "long"])
def test_it_leads_to_the_registration_and_back(anonymous, wiki, state):
    begun = open_page(anonymous, wiki.url(prompt="create", state=state), 303)
    assert path_of(begun)[0] == "/auth/register"
    answer = registered(anonymous, open_page(anonymous, begun.location))
    asked = open_page(anonymous, answer.location, 303)
    assert path_of(asked)[0] == CONSENT  # never again to the registration
    assert answer_in(walk(anonymous, asked.location))["state"] == state


def test_a_trusted_app_gets_a_new_user_at_once(anonymous, site):
    app = App(site, is_trusted=True)
    begun = open_page(anonymous, app.url(prompt="create"), 303)
    answer = registered(anonymous, open_page(anonymous, begun.location))
    assert "code" in answer_in(open_page(anonymous, answer.location, 303).location)


def test_a_user_who_logs_in_instead_is_not_asked_again(anonymous, browser, wiki):
    walk(browser, wiki.url())  # Ada has allowed it
    begun = open_page(anonymous, wiki.url(prompt="create"), 303)
    page = open_page(anonymous, begun.location)
    login = next(each for each in page.html.find_all("a") if "/auth/login?" in each["href"])
    answer = log_in_here(anonymous, open_page(anonymous, login["href"]))
    assert "code" in answer_in(open_page(anonymous, answer.location, 303).location)


def test_a_user_who_is_logged_in_is_asked_which_account_it_is(browser, wiki):
    walk(browser, wiki.url())
    answer = open_page(browser, wiki.url(prompt="create"), 303)
    assert path_of(answer)[0] == CONSENT
    assert "code" in answer_in(walk(browser, answer.location))


def test_an_older_login_is_no_answer(anonymous, browser, wiki, clock):
    walk(browser, wiki.url())
    clock.move(60)
    _path, query = path_of(open_page(anonymous, wiki.url(prompt="create"), 303))
    answer = open_page(browser, f"/auth/authorize?{query}", 303)
    assert path_of(answer)[0] == CONSENT


AT_ONCE = "work:https://id:secret@id.example.com?register=at_once"


@pytest.mark.promise(101)
@pytest.mark.parametrize("further", [{"OIDC_PROVIDERS": (AT_ONCE,)}], ids=[""])
def test_a_provider_that_registers_at_once_is_asked_only_by_a_press(anonymous, site, wiki):
    provider_account(site, "work", email="niaj@example.org", email_verified=True)
    for url, page in ((wiki.url(), "/auth/login"), (wiki.url(prompt="create"), "/auth/register")):
        begun = open_page(anonymous, url, 303)
        assert path_of(begun)[0] == page
        shown = open_page(anonymous, begun.location).html
        button = shown.find("button", attrs={"formaction": "/auth/oidc/work"})
        assert not any("oidc" in each for each in anonymous.cookies)
    assert User.select().count() == 0
    fields = {"next": button.find_parent("form").find(attrs={"name": "next"})["value"]}
    begun = anonymous.post(button["formaction"], fields, headers=SAME_ORIGIN, status=303)
    callback = open_page(anonymous, begun.location, 303)
    assert path_of(open_page(anonymous, callback.location, 303))[0] == CONSENT
    assert User.get().email == "niaj@example.org"


@pytest.mark.parametrize("further", [{"REGISTRATION": False}], ids=["closed"])
def test_where_nobody_can_register_it_leads_to_the_login(client, ada, anonymous, wiki):
    begun = open_page(anonymous, wiki.url(prompt="create"), 303)
    assert path_of(begun)[0] == "/auth/login"
    answer = log_in_here(anonymous, open_page(anonymous, begun.location))
    assert "code" in answer_in(walk(anonymous, answer.location))
    assert "create" not in client.get(METADATA).json["prompt_values_supported"]


def test_the_metadata_name_it_where_people_can_register(client, wiki):
    assert "create" in client.get(METADATA).json["prompt_values_supported"]


def test_a_silent_request_cannot_create_an_account(anonymous, wiki):
    found = answer_in(open_page(anonymous, wiki.url(prompt="none create"), 303).location)
    assert found["error"] == "invalid_request"
