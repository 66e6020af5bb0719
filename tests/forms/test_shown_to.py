"""Forms act only for the account that their page was shown to, at every URL and in the panel."""

from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

from tests.support import features
from tests.support.crawling import crawl, forms_of, routes_of
from tests.support.driving import make_site
from tests.support.factors import add_app
from tests.support.page_forms import ACCOUNT
from tests.support.provider_logins import log_in
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.app import ROUTES
from wsgiauth.features.links.link_form import LinkForm
from wsgiauth.forms import MemberForm
from wsgiauth.signed_values import encoded
from wsgiauth.testing import logged_in, make_user
from wsgiauth.throttling.counts import AttemptCount

SCRIPT = {**SAME_ORIGIN, "Accept": "application/json"}

# An application's own pages have their forms, too, without the field.
OF_APPLICATIONS = {"/logout", "/language"}


@pytest.fixture
def site(database_url, tmp_path, provider, unsent):
    made = make_site(database_url, tmp_path, provider, has_demands=True, LANGUAGES="en de")
    yield made
    made.site.outbox.stop()
    storage.discard_connection(made.database)


@pytest.fixture
def people(site):
    """Return two superusers."""
    return [
        make_user(site, name, password=PASSWORD, is_staff=True, is_superuser=True)
        for name in (USERNAME, "Grace")
    ]


@pytest.fixture
def filled(site, people):
    """Return them with everything that a page can list."""
    for user in people:
        features.fill(site, user)
        logged_in(site, user)
    AttemptCount.delete().execute()  # so that they can log in at once
    return people


def member_forms(browser, site, user):
    """Yield the forms of all pages that a user is shown."""
    further = ["/auth/confirm", "/auth/login", *features.pages(site, user)]
    pages = [browser.get(url, headers=BROWSER) for url in further]
    assert all(map(forms_of, pages))
    pages += crawl(browser)
    for demand in site.site.admission.demands:
        if demand.page:
            demand.arrange(user, None, is_met=False)
            pages.append(browser.get(f"/auth{demand.page}", headers=BROWSER))
            demand.arrange(user, None, is_met=True)
    for page in pages:
        yield from forms_of(page)


def contents():
    """Return all rows of the database but those of counts, and when sessions were last seen."""
    database = storage.current()
    tables = set(database.get_tables()) - {"wsgiauth_session", "wsgiauth_attempt_count"}
    found = {each: database.execute_sql(f"SELECT * FROM {each}").fetchall() for each in tables}  # noqa: S608
    found["sessions"] = database.execute_sql("SELECT id FROM wsgiauth_session").fetchall()
    return {table: sorted(map(repr, rows)) for table, rows in found.items()}


@pytest.mark.slow
@pytest.mark.promise(79)
def test_every_form_of_a_member_is_refused_in_the_session_of_another(site, filled, caplog):
    ada, grace = filled
    browser, other = logged_in(site, ada), logged_in(site, grace)
    forms = list(member_forms(browser, site, ada))
    before, tried = contents(), set()
    for url, fields in forms:
        route = routes_of(url.partition("?")[0])
        tried.add(route)
        assert fields.get(ACCOUNT), (url, fields)
        page = other.post(url, fields, headers=SAME_ORIGIN, status=403)
        page.mustcontain("This page is for another account", "Use another account")
        if not isinstance(ROUTES[route], LinkForm):  # whose link names the user, too
            opened = f"This page was opened for {USERNAME}, but you are logged in as Grace now"
            page.mustcontain(opened, "Open the page again")
        assert other.post(url, fields, headers=SCRIPT, status=403).json["code"] == "other_account"
        if route in OF_APPLICATIONS:
            continue
        moved = f"{encoded(b'2.')}.{fields[ACCOUNT].partition('.')[2]}"
        for value in ("", "1", fields[ACCOUNT] + "x", moved):
            refused = browser.post(url, {**fields, ACCOUNT: value}, headers=SAME_ORIGIN, status=403)
            refused.mustcontain("so nothing was changed. You are logged in as Ada.")
    assert contents() == before
    assert 'event=refused user_id=2 address=- reason="other account" actor="user 2"' in caplog.text
    untried = {path for path, each in ROUTES.items() if isinstance(each, MemberForm)} - tried
    places = {
        path: features.place_of(type(ROUTES[path]).__module__, "this test") for path in untried
    }
    assert not untried, (
        f"no link leads to the forms of these: add their pages to `pages` of {places}"
    )
    assert tried >= OF_APPLICATIONS


@pytest.mark.promise(79)
def test_a_script_can_leave_the_field_out_and_json_has_none(site, people):
    ada, _ = people
    fields = {"username": "Countess"}
    answer = logged_in(site, ada).post(
        "/auth/username", {**fields, ACCOUNT: ""}, headers=SCRIPT, status=200
    )
    assert answer.json["username"] == "Countess"
    fields = {"username": "Ada", ACCOUNT: "of anyone"}
    logged_in(site, ada).post_json("/auth/username", fields, status=200)


def form_to(page, path):
    """Return the form on a page that is sent to a path and has most fields."""
    forms = [each for each in page.forms.values() if urlsplit(each.action).path == path]
    return max(forms, key=lambda form: len(form.fields))


@pytest.mark.promise(79)
def test_a_page_of_a_second_step_acts_for_no_other_login(site, people):
    """Not even without the `login` in its address, which says which of two tabs it is."""
    ada, grace = people
    for each in people:
        add_app(site, each)
    browser = TestApp(site)
    form, _ = (form_to(_pending(browser, user), "/auth/second") for user in (ada, grace))
    for cancel in ({}, {"cancel": "on"}):
        fields = dict(form.submit_fields()) | cancel
        refused = browser.post("/auth/second", fields, headers=SAME_ORIGIN, status=403)
        refused.mustcontain(f"This page was opened for {USERNAME}, but you are logged in as Grace")
        fields[ACCOUNT] = ""
        browser.post(form.action, fields, headers=SAME_ORIGIN, status=403)
    form["code"] = add_app(site, ada, "Tablet").code()
    form.submit(headers=SAME_ORIGIN, status=303)
    assert browser.get("/").json["user"] == USERNAME


def _pending(browser, user):
    fields = {"username": user.username, "password": PASSWORD}
    answer = browser.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)
    return answer.follow(headers=BROWSER)


@pytest.fixture
def arrive(provider):
    """Return a function that comes back with an account without a user; returns the form."""

    def arrive(browser, subject):
        page = log_in(browser, provider, subject, status=303).follow(headers=BROWSER)
        return form_to(page, "/auth/complete")

    return arrive


@pytest.mark.promise(79)
def test_an_account_of_a_provider_is_connected_to_no_other_user(site, people, arrive):
    ada, grace = people
    browser = logged_in(site, ada)
    form = arrive(browser, "eve")
    fields = dict(form.submit_fields("connect"))
    assert fields["connect"] == "on"
    cookie = next(each for each in browser.cookiejar if each.name == "wsgiauth")
    cookie.value = logged_in(site, grace).cookies["wsgiauth"]
    before = contents()
    refused = browser.post(form.action, fields, headers=SAME_ORIGIN, status=403)
    refused.mustcontain(f"This page was opened for {USERNAME}, but you are logged in as Grace")
    link = refused.html.find("a", string="Open the page again")
    again = browser.get(link["href"], headers=BROWSER)
    value = form_to(again, "/auth/complete")[ACCOUNT].value
    assert site.site.form_accounts.read(value).user_id == grace.id
    assert contents() == before


@pytest.mark.promise(79)
def test_a_page_about_an_account_of_a_provider_acts_for_no_other_one(site, people, arrive):
    ada, _ = people
    browser = logged_in(site, ada)
    fields = dict(arrive(browser, "eve").submit_fields("connect"))
    arrive(browser, "mallory")
    before = contents()
    refused = browser.post("/auth/complete", fields, headers=SAME_ORIGIN, status=403)
    refused.mustcontain("This page is out of date, so nothing was changed.")
    assert contents() == before


@pytest.mark.promise(79)
def test_a_page_for_a_guest_acts_for_no_user_who_logged_in_later_and_the_other_way_round(
    site, people, arrive
):
    ada, _ = people
    browser = TestApp(site)
    form = arrive(browser, "eve")
    fields = dict(form.submit_fields()) | {"connect": "on", "username": "Eve"}
    browser.set_cookie("wsgiauth", logged_in(site, ada).cookies["wsgiauth"])
    before = contents()
    refused = browser.post(form.action, fields, headers=SAME_ORIGIN, status=403)
    refused.mustcontain("This page is out of date, so nothing was changed.")
    form = form_to(browser.get(form.action, headers=BROWSER), "/auth/complete")
    browser.set_cookie("wsgiauth", "ended")
    fields = dict(form.submit_fields()) | {"username": "Eve"}
    refused = browser.post(form.action, fields, headers=SAME_ORIGIN, status=403)
    refused.mustcontain("for an account that is no longer logged in, so nothing was changed.")
    assert contents() == before


@pytest.mark.promise(79)
def test_without_usernames_a_refused_form_names_no_address_of_another_user(settings):
    """The other user may have changed it since the form was shown."""
    site = AuthMiddleware(echo, replace(settings, USERNAMES=False))
    mary, grace = (make_user(site, name) for name in ("mary", "grace"))
    sent = form_to(logged_in(site, mary).get("/auth/password", headers=BROWSER), "/auth/password")
    fields = dict(sent.submit_fields())
    refused = logged_in(site, grace).post("/auth/password", fields, headers=SAME_ORIGIN, status=403)
    refused.mustcontain("This page is out of date", grace.email, no=mary.email)
