"""The query of the list of users, which the pages of users carry so that they lead back to it."""

import pytest

from tests.conftest import insert_users
from tests.support.sites import SAME_ORIGIN
from wsgiauth.accounts.models import User
from wsgiauth.features.panel import user_search

LIST = "/auth/admin/users?q=us&active=no&sort=-email"


@pytest.fixture
def listed(browser, monkeypatch):
    """Return the second page of a search, with filters and an order."""
    monkeypatch.setattr(user_search, "PAGE", 3)
    insert_users(5)
    User.update(is_active=False).where(User.username != "Boss").execute()
    return browser.get(LIST).click("Next page")


def submit(form):
    return form.submit(headers=SAME_ORIGIN).follow()


def test_the_page_of_a_user_leads_back_to_the_list_as_it_was(listed):
    back = listed.click("^User0$").click("Back to the search")
    assert back.request.url == listed.request.url
    assert back.request.GET["after"]
    assert back.html.tbody.text == listed.html.tbody.text


def test_a_page_that_was_read_from_its_end_is_led_back_to(browser, monkeypatch):
    monkeypatch.setattr(user_search, "PAGE", 3)
    insert_users(5)
    listed = browser.get("/auth/admin/users?sort=email&before=email:")
    back = listed.click("^User4$").click("Back to the search")
    assert back.request.GET["before"] == "email:"


def test_a_button_on_the_page_of_a_user_keeps_the_list(listed):
    page = submit(listed.click("^User0$").forms[0])
    page.mustcontain("The account is active")
    assert page.click("Back to the search").request.url == listed.request.url


def test_a_page_that_asks_keeps_the_list(listed):
    asked = listed.click("^User0$").click("Make superuser…")
    assert asked.click("Back to the user").click("Back to the search").request.url == (
        listed.request.url
    )
    page = submit(asked.forms[0])
    page.mustcontain("The user is now a superuser.")
    assert page.click("Back to the search").request.url == listed.request.url


def test_a_form_that_was_refused_keeps_the_list(listed):
    page = listed.click("^User0$")
    (form,) = (each for each in page.forms.values() if "/grant" in each.action)
    form["permission"] = "publish"
    refused = form.submit(headers=SAME_ORIGIN, status=422)
    assert refused.click("Back to the user").click("Back to the search").request.url == (
        listed.request.url
    )


def test_a_deletion_leads_to_the_list(listed):
    page = submit(listed.click("^User0$").click("Delete the account…").forms[0])
    page.mustcontain("has been deleted", no=">User0<")
    assert page.forms[0]["q"].value == "us"
    assert page.html.find("caption").text == "4 users, by email address, in reverse"


def test_the_whole_list_needs_no_query(browser, make):
    make("Tim")
    page = browser.get("/auth/admin/users").click("Tim")
    assert page.request.query_string == ""
    assert page.click("Back to the users").request.path_qs == "/auth/admin/users"


def test_what_is_no_query_of_the_list_leads_nowhere_else(browser, make):
    url = f"/auth/admin/users/{make('Tim').id}"
    for query in (
        "//evil.example",
        "https://evil.example/?q=a",
        "javascript:alert(1)",
        "next=//evil.example&list=q",
        "staff=maybe",
        "q=a&q=b",
        "sort=hashed_password",
        "%ff",
    ):
        page = browser.get(url, {"list": query})
        page.mustcontain('href="/auth/admin/users">Back to the users', no=["?list=", "evil"])


def test_of_a_query_only_what_the_list_understands_is_kept(browser, make):
    url = f"/auth/admin/users/{make('Tim').id}"
    page = browser.get(url, {"list": "q= ti &staff=&evil=1&sort=email"})
    assert page.html.find("a", string="Back to the search")["href"] == (
        "/auth/admin/users?q=ti&sort=email"
    )
