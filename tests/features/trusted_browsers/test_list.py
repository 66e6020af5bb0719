"""The trusted browsers at /auth/sessions."""

import pytest
from webtest import TestApp

from tests.conftest import insert_user
from tests.support.factors import add_app
from tests.support.sites import BROWSER, SAME_ORIGIN
from tests.support.trusted import DAYS, first_step, is_asked, trust
from wsgiauth import find_user
from wsgiauth.accounts.tables import Session, TrustedBrowser
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.endpoints.sessions import OTHERS
from wsgiauth.storage.models import from_timestamp, utc_text
from wsgiauth.testing import bearer, logged_in

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:147.0) Gecko/20100101 Firefox/147.0"
HOSTILE = "\"'><script>alert(1)</script>Firefox/1"
JSON = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}

pytestmark = pytest.mark.promise(84)


@pytest.fixture
def member(browser, app, site):
    """Return another browser, in which Ada is logged in by a code; she trusts it, too."""
    client = TestApp(site, {"REMOTE_ADDR": "192.0.2.2", "HTTP_USER_AGENT": FIREFOX})
    first_step(client)
    form = {"code": app.code(1), "trust": "on"}
    client.post("/auth/second", form, headers=SAME_ORIGIN, status=303)
    return client


@pytest.fixture
def clock(clock):
    """Return the clock of the site near the end of a step, when the next code counts, too."""
    clock.move(28 - int(clock()) % 30)
    return clock


def listed(client):
    return client.get("/auth/sessions", headers=JSON).json["trusted_browsers"]


def end(client, handle, status=200):
    return client.post("/auth/sessions", {"end": handle}, headers=JSON, status=status)


def items(page):
    heading = page.html.find("h2", string="Trusted browsers")
    return heading.find_next(class_="entries").find_all("li") if heading else []


@pytest.mark.every_database
def test_a_program_gets_the_list(member, browser, clock):
    times = {
        "trusted_at": utc_text(from_timestamp(int(clock()))),
        "last_used_at": None,
        "expires_at": utc_text(from_timestamp(int(clock()) + DAYS * DAY)),
    }
    found = {each["address"]: each for each in listed(member)}
    row = TrustedBrowser.get(TrustedBrowser.address == "192.0.2.2")
    words = {"handle": row.id, "address": "192.0.2.2", "browser": "Firefox on Windows"}
    assert found["192.0.2.2"] == {"is_current": True} | words | times
    other = found["192.0.2.1"]
    assert (other["is_current"], other["browser"]) == (False, "Unknown browser")


def test_for_a_program_no_browser_is_the_current_one(browser, site, ada):
    (only,) = (
        TestApp(site).get("/auth/sessions", headers=bearer(site, ada)).json["trusted_browsers"]
    )
    assert not only["is_current"]


def test_a_user_without_any_sees_none(client, site, ada):
    first_step(client)
    page = client.get("/auth/sessions", headers=BROWSER)
    page.mustcontain(no=["Trusted browsers", "Log out everywhere else"])
    assert listed(client) == []


def test_the_page_shows_them_and_marks_this_one(member):
    page = member.get("/auth/sessions", headers=BROWSER)
    found = {each.h3.text: each for each in items(page)}
    assert {name: "This browser" in each.text for name, each in found.items()} == {
        "Firefox on Windows": True,
        "Unknown browser": False,
    }
    terms = [each.text for each in found["Firefox on Windows"].find_all("dt")]
    assert terms == ["Trusted since", "Trusted until"]


def test_the_page_says_when_a_login_last_skipped_the_second_step(browser, app):
    first_step(browser)
    page = browser.get("/auth/sessions", headers=BROWSER)
    (item,) = items(page)
    assert "Last login without the second step" in [each.text for each in item.find_all("dt")]
    for answer in (page, browser.get("/auth/sessions", headers=JSON)):
        answer.mustcontain(no=[browser.cookies["wsgiauth-trusted"], TrustedBrowser.get().digest])
    TrustedBrowser.update(agent=HOSTILE, address=HOSTILE).execute()
    browser.get("/auth/sessions", headers=BROWSER).mustcontain(no="<script>alert")


@pytest.mark.every_database
def test_one_is_revoked_by_its_handle_and_its_session_goes_on(member, browser, ada, heard):
    first_step(browser)
    heard.clear()
    (row,) = TrustedBrowser.select().where(TrustedBrowser.address == "192.0.2.1")
    left = end(member, row.id).json["trusted_browsers"]
    assert [each["address"] for each in left] == ["192.0.2.2"]
    assert [(each.name, each.user_id, each.reason) for each in heard] == [
        ("trust_ended", ada.id, None)
    ]
    assert browser.get("/").json["user"] == "Ada"
    browser.post("/auth/logout", headers=SAME_ORIGIN)
    assert is_asked(browser)


def test_the_button_of_the_page_revokes_it(member, browser):
    page = member.get("/auth/sessions", headers=BROWSER)
    (item,) = [each for each in items(page) if each.h3.text == "Unknown browser"]
    action = next(form for form in page.forms.values() if str(item.form) == str(form.html.form))
    done = action.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert done.html.find(role="status").text == (
        "Logins in that browser ask for the second step again. Sessions there continue until you"
        " revoke them."
    )
    assert is_asked(browser)


def test_a_form_that_is_sent_again_says_that_the_browser_is_no_longer_trusted(member, browser):
    page = member.get("/auth/sessions", headers=BROWSER)
    forms = [form for form in page.forms.values() if "trusted" in form.fields]
    TrustedBrowser.delete().execute()
    for form in forms:
        refused = form.submit(headers=SAME_ORIGIN, status=404)
        assert refused.html.find(role="alert").text == "That browser is no longer trusted."


@pytest.mark.every_database
def test_a_logout_everywhere_else_ends_the_trust_in_this_browser_too(member, browser):
    end(member, "others")
    assert listed(member) == []
    assert member.get("/").json["user"] == "Ada"
    member.post("/auth/logout", headers=SAME_ORIGIN)
    assert is_asked(member)
    assert is_asked(browser)


def test_with_one_session_the_page_offers_to_end_the_trust_alone(browser, again):
    other = again()
    for client in (browser, other):
        first_step(client)
    page = browser.get("/auth/sessions", headers=BROWSER)
    page.mustcontain("Log out everywhere else", "no browser stays trusted")
    other.post("/auth/logout", headers=SAME_ORIGIN)
    assert Session.select().count() == 1
    page = browser.get("/auth/sessions", headers=BROWSER)
    page.mustcontain("End the trust in all browsers", no=["Log out everywhere else"])
    (form,) = [
        each for each in page.forms.values() if "end" in each.fields and each["end"].value == OTHERS
    ]
    done = form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert done.html.find(role="status").text == (
        "Logins in all browsers ask for the second step again."
    )
    assert is_asked(browser)


def test_the_account_names_trusted_browsers_where_the_site_offers_them(make_site, ada):
    for days in (0, DAYS):
        client = logged_in(make_site(TRUSTED_BROWSER_DAYS=days), find_user("ada"))
        page = client.get("/auth/account", headers=BROWSER)
        (link,) = page.html.select("main a[href='/auth/sessions']")
        assert ("trusted browsers" in link.text) is bool(days)


def test_a_handle_that_is_unknown_or_of_another_user_revokes_nothing(member, site):
    other, grace = TestApp(site), insert_user("Grace", "grace@example.org")
    trust(other, add_app(site, grace).code(), "Grace")
    for handle in ("", "0" * 16, "x" * 2000, "' OR 1=1", "\xff"):
        assert end(member, handle, status="*").status_int in (404, 422), handle
    end(member, TrustedBrowser.get(TrustedBrowser.user == grace.id).id, status=404)
    assert TrustedBrowser.select().count() == 3
    assert not is_asked(other, "Grace")
