"""GET and POST /auth/terms."""

from functools import partial

import pytest
from webtest import TestApp

from tests.features.terms.sites import (
    LATER,
    MEMBERS,
    OLDER,
    PAGE,
    SCRIPT,
    TERMS,
    VERSION,
    accepted_by,
    known_to,
    number_of_rows,
    reasons,
    to_page,
    with_terms,
)
from tests.support.logins import make_stale
from tests.support.processes import PROCESSES, meet
from tests.support.provider_logins import log_in
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME, echo
from tests.support.tables import row_by_row
from tests.support.tabs import PROVIDER, tab_cookies
from wsgiauth import Settings, login_required
from wsgiauth.accounts import delete_user
from wsgiauth.accounts.tables import Session
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.terms import acceptances
from wsgiauth.features.terms.tables import Acceptance
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in

PRIVACY = "https://example.org/privacy"
KNOWN = {**MEMBERS, "privacy_url": PRIVACY}


def submit(page, number=0, status=303, **fields):
    form = page.forms[number]
    for name, value in fields.items():
        form[name] = value
    return form.submit(headers=SAME_ORIGIN, status=status)


_KEY = "Authorization"


def headers_of(browser):
    return {"Authorization": f"Bearer {browser.cookies['wsgiauth']}"}


# A person


@pytest.mark.every_database
@pytest.mark.promise(97)
def test_a_person_reads_ticks_the_box_and_is_led_on(browser, ada, heard):
    page = browser.get(to_page("/members?page=2"), headers=BROWSER)
    text = page.html.main
    assert text.find("a", string="terms of use")["href"] == "/terms"
    assert text.find("a", string="privacy policy")["href"] == PRIVACY
    assert text.find("time")["datetime"].startswith(VERSION)
    assert not page.forms[0]["accept"].checked
    answer = submit(page, accept=True)
    assert answer.location == "/members?page=2"
    assert accepted_by(ada) == [VERSION]
    assert reasons(heard) == [VERSION]
    assert browser.get("/").json["user"] == USERNAME


def test_without_a_next_the_page_leads_home(browser):
    assert submit(browser.get(PAGE, headers=BROWSER), accept=True).location == "/"


@pytest.mark.promise(97)
def test_a_box_that_is_not_ticked_accepts_nothing(browser, ada):
    page = submit(browser.get(to_page("/x"), headers=BROWSER), status=422)
    assert page.html.find(id="accept-error").text == "Accept the terms of use to continue."
    assert accepted_by(ada) == []
    assert submit(page, accept=True).location == "/x"


@pytest.mark.promise(97)
@pytest.mark.parametrize("other", [OLDER, LATER], ids=["older", "later"])
def test_a_page_from_before_the_setting_changed_is_shown_again(make_site, site, ada, other):
    former = make_site(version=other)
    page = logged_in(former, known_to(former, ada), terms=False).get(to_page("/x"), headers=BROWSER)
    browser = logged_in(site, known_to(site, ada), terms=False)
    sent = {name: value[0].value for name, value in page.forms[0].fields.items() if name}
    again = browser.post(PAGE, {**sent, "accept": "on"}, headers=SAME_ORIGIN, status=409)
    assert "another version of the terms" in again.html.find(role="alert").text
    assert again.forms[0]["version"].value == VERSION
    assert not again.forms[0]["accept"].checked
    assert number_of_rows(site) == 0
    assert submit(again, accept=True).location == "/x"


def test_a_member_sees_when_they_accepted(browser, ada):
    submit(browser.get(PAGE, headers=BROWSER), accept=True)
    page = browser.get(PAGE, headers=BROWSER)
    since, accepted = (each["datetime"] for each in page.html.main.find_all("time"))
    assert since.startswith(VERSION)
    assert accepted == acceptances.list_accepted(ada)[0].document()["accepted_at"]
    assert not page.forms


def test_after_an_acceptance_in_another_tab_the_page_leads_on(browser, ada):
    acceptances.accept(ada, VERSION)
    for wanted, location in (("/x?y=1", "/x?y=1"), (PAGE, "/"), ("/auth/logout", "/")):
        answer = browser.get(to_page(wanted), headers=BROWSER, status=303)
        assert answer.location == location
    browser.get(to_page("//evil.example"), headers=BROWSER, status=200)


@pytest.mark.parametrize(
    "wanted", [PAGE, "/auth/logout", "/auth/login", "/auth/second", "/auth/confirm?next=/x"]
)
def test_the_page_leads_to_no_dead_end(browser, wanted):
    assert submit(browser.get(to_page(wanted), headers=BROWSER), accept=True).location == "/"


def test_a_person_can_log_out_instead(browser):
    submit(browser.get(PAGE, headers=BROWSER), 1)
    assert not Session.select().exists()


@pytest.mark.every_database
def test_a_person_can_log_out_everywhere_instead(browser, site, ada, heard):
    for _ in range(2):
        logged_in(site, ada, terms=False)
    page = browser.get(PAGE, headers=BROWSER)
    button = page.html.find("button", string="Log out everywhere")
    sent = {each["name"]: each["value"] for each in [*button.parent.find_all("input"), button]}
    answer = browser.post(PAGE, sent, headers=SAME_ORIGIN, status=303)
    assert answer.location == "/auth/login?done=logout"
    assert not browser.cookies.get("wsgiauth")
    assert accepted_by(ada) == []
    for each in (browser, TestApp(site)):
        assert each.get("/").json["user"] is None
    valid = bearer(site, ada, terms=False)
    done = TestApp(site).post_json(PAGE, {"end": "all"}, headers=valid)
    assert done.json == {"detail": "Logged out."}
    assert TestApp(site).get("/", headers=valid).json["error"] == "invalid_token"


def test_a_logout_everywhere_forgets_an_account_of_a_provider(make_provider_site, provider, ada):
    site = make_provider_site(**TERMS)
    browser = logged_in(site, known_to(site, ada), terms=False)
    log_in(TestApp(site, cookiejar=browser.cookiejar), provider, "eve", status=303)
    assert tab_cookies(browser, PROVIDER)
    sent = {"account": browser.get(PAGE, headers=BROWSER).forms[0]["account"].value, "end": "all"}
    browser.post(PAGE, sent, headers=SAME_ORIGIN, status=303)
    assert not tab_cookies(browser, PROVIDER)


def test_the_links_of_the_page_work_below_a_prefix(make_site, ada):
    inner = make_site()
    ada = known_to(inner, ada)

    def below(environ, start_response):
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = "/shop", environ["PATH_INFO"][5:]
        return inner(environ, start_response)

    client = TestApp(below)
    client.authorization = ("Bearer", bearer(inner, ada, terms=False)["Authorization"][7:])
    page = client.get("/shop/auth/terms", headers=BROWSER)
    assert {each["action"] for each in page.html.main.find_all("form")} == {
        "/shop/auth/terms",
        "/shop/auth/logout",
    }
    link = page.html.main.find("a", string="terms of use")["href"]
    assert client.get("/shop/auth/terms").json["terms_url"] == link


def test_a_person_reads_the_page_in_their_language(make_site, ada):
    site = make_site(of={"LANGUAGES": ("en", "de")})
    ada = known_to(site, ada)
    browser = logged_in(site, ada, terms=False)
    chosen = {"language": "de"}
    browser.post("/auth/language", chosen, headers=SAME_ORIGIN, status=303)
    ada = known_to(site, ada)
    assert ada.language == "de"
    browser = logged_in(site, ada, terms=False)
    assert browser.get(PAGE, headers=BROWSER).html.html["lang"] == "de"


# A program and a script


def test_a_program_reads_and_accepts(client, lacking, ada, heard):
    assert client.get(PAGE, headers=lacking).json == {**KNOWN, "accepted": []}
    done = client.post_json(PAGE, {"version": VERSION}, headers=lacking, status=200)
    (accepted,) = done.json["accepted"]
    assert done.json == {**KNOWN, "accepted": [accepted]}
    assert accepted == acceptances.list_accepted(ada)[0].document()
    assert accepted["version"] == VERSION
    assert accepted["accepted_at"].endswith("Z")
    assert client.get(PAGE, headers=lacking).json["accepted"] == [accepted]
    assert client.get("/", headers=lacking).json["user"] == USERNAME
    assert reasons(heard) == [VERSION]


def test_without_a_privacy_policy_its_url_is_null(make_site, ada):
    site = make_site()
    ada = known_to(site, ada)
    shown = TestApp(site).get(PAGE, headers=bearer(site, ada, terms=False))
    assert shown.json["privacy_url"] is None
    page = logged_in(site, ada, terms=False).get(PAGE, headers=BROWSER)
    assert page.html.find("a", string="privacy policy") is None


@pytest.mark.promise(97)
@pytest.mark.parametrize("version", [OLDER, LATER])
def test_another_version_is_refused_with_the_present_one(client, lacking, ada, version):
    refused = client.post_json(PAGE, {"version": version}, headers=lacking, status=409)
    assert refused.json["code"] == "other_version"
    assert {name: refused.json[name] for name in MEMBERS} == MEMBERS
    assert accepted_by(ada) == []


@pytest.mark.promise(97)
@row_by_row(
    "sent",
    [
        {},
        {"version": ""},
        {"version": "true"},
        {"version": "2026-11-31"},
        {"version": "20261102"},
        {"version": "2026-W45-1"},
        {"version": "\uff12026-11-02"},
        {"accept": True},
        {"end": "others"},
    ],
)
def test_anything_else_is_invalid(client, lacking, ada, sent):
    refused = client.post_json(PAGE, sent, headers=lacking, status=422)
    assert list(refused.json["errors"]) == ["version"]
    assert accepted_by(ada) == []


@pytest.mark.promise(97)
def test_a_program_that_sends_that_its_user_does_not_accept_is_refused(client, lacking, ada):
    client.post_json(PAGE, {"version": VERSION, "accept": False}, headers=lacking, status=422)
    assert accepted_by(ada) == []


@pytest.mark.promise(97)
@pytest.mark.parametrize("version", [True, None, 20261102, [VERSION], {"version": VERSION}])
def test_a_version_that_is_no_string_is_refused(client, lacking, ada, version):
    client.post_json(PAGE, {"version": version}, headers=lacking, status=422)
    assert accepted_by(ada) == []


def test_a_script_gets_the_next_page(browser, ada):
    form = browser.get(to_page("/x"), headers=BROWSER).forms[0]
    sent = {name: form[name].value for name in ("account", "next", "version")}
    assert browser.post(PAGE, sent, headers=SCRIPT, status=422).json["errors"] == {
        "accept": ["Accept the terms of use to continue."]
    }
    done = browser.post(PAGE, {**sent, "accept": "on"}, headers=SCRIPT, status=200)
    assert done.json == {"detail": "Terms accepted.", "next": "/x"}
    assert accepted_by(ada) == [VERSION]


def test_a_script_can_log_out_everywhere(browser):
    sent = {"end": "all", "account": browser.get(PAGE, headers=BROWSER).forms[0]["account"].value}
    browser.post(PAGE, sent, headers=SCRIPT, status=200)
    assert not browser.cookies.get("wsgiauth")


# Who accepts, and how often


@pytest.mark.every_database
@pytest.mark.promise(97)
def test_a_version_is_accepted_once(client, lacking, ada, heard):
    for _ in range(2):
        client.post_json(PAGE, {"version": VERSION}, headers=lacking, status=200)
    assert accepted_by(ada) == [VERSION]
    assert reasons(heard) == [VERSION]
    recorded = RecordedEvent.select().where(RecordedEvent.name == "terms_accepted")
    assert [(each.user_id, each.reason) for each in recorded] == [(ada.id, VERSION)]


def test_a_later_version_counts_after_a_rollback(make_site, ada, heard):
    later, now = make_site(version=LATER), make_site()
    browser = logged_in(later, known_to(later, ada), terms=False)
    submit(browser.get(PAGE, headers=BROWSER), accept=True)
    headers = headers_of(browser)
    assert TestApp(now).get("/", headers=headers).json["user"] == USERNAME
    TestApp(now).post_json(PAGE, {"version": VERSION}, headers=headers, status=200)
    assert accepted_by(ada) == [LATER]
    assert reasons(heard) == [LATER]
    again = TestApp(now).get(PAGE, headers={**BROWSER, **headers})
    again.mustcontain("Accepted:")


def test_two_processes_with_different_versions(make_site, ada):
    """As in a rolling restart: the old one asks for its own, and the later one counts there."""
    old, new = make_site(version=OLDER), make_site()
    headers = bearer(old, known_to(old, ada), terms=False)
    TestApp(old).post_json(PAGE, {"version": OLDER}, headers=headers, status=200)
    assert TestApp(old).get("/", headers=headers).json["user"] == USERNAME
    assert TestApp(new).get("/", headers=headers).json["error"] == "terms_required"
    TestApp(new).post_json(PAGE, {"version": VERSION}, headers=headers, status=200)
    for each in (old, new):
        assert TestApp(each).get("/", headers=headers).json["user"] == USERNAME
    assert accepted_by(ada) == [VERSION, OLDER]


@pytest.mark.promise(97)
def test_an_acceptance_is_for_all_sessions_of_the_user_and_of_no_other(site, ada, grace):
    client = TestApp(site)
    one, other = (bearer(site, ada, terms=False) for _ in range(2))
    of_grace = bearer(site, grace, terms=False)
    client.post_json(PAGE, {"version": VERSION}, headers=one, status=200)
    assert client.get("/", headers=other).json["user"] == USERNAME
    assert client.get("/", headers=of_grace).json["user"] is None


@pytest.mark.promise(97)
def test_a_form_of_another_account_is_refused(site, ada, grace):
    sent = {"version": VERSION, "accept": "on"}
    page = logged_in(site, ada, terms=False).get(PAGE, headers=BROWSER)
    browser = logged_in(site, grace, terms=False)
    for account in (page.forms[0]["account"].value, "", "x"):
        browser.post(PAGE, {**sent, "account": account}, headers=SAME_ORIGIN, status=403)
        if account:
            refused = browser.post(PAGE, {**sent, "account": account}, headers=SCRIPT, status=403)
            assert refused.json["code"] == "other_account"
    assert number_of_rows(site) == 0


@pytest.mark.promise(97)
def test_a_page_of_another_site_accepts_nothing(browser, ada):
    form = browser.get(PAGE, headers=BROWSER).forms[0]
    sent = {name: form[name].value for name in ("account", "version")} | {"accept": "on"}
    cross = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    browser.post(PAGE, sent, headers=cross, status=403)
    browser.post_json(PAGE, {"version": VERSION}, headers=cross, status="*")
    assert accepted_by(ada) == []


@pytest.mark.promise(97)
def test_get_changes_nothing(browser, ada, client, lacking):
    query = f"?version={VERSION}&accept=on&accept_terms=true&end=all"
    for headers in (BROWSER, {}):
        browser.get(PAGE + query, headers=headers, status=200)
        browser.head(PAGE + query, headers=headers, status=200)
    client.get(PAGE + query, headers=lacking, status=200)
    assert accepted_by(ada) == []
    assert Session.select().count() == 2


@pytest.mark.promise(97)
def test_an_api_key_accepts_nothing(client, site, ada):
    key = api_key(site, ada)
    client.get(PAGE, headers=key, status=403)
    refused = client.post_json(PAGE, {"version": VERSION}, headers=key, status=403)
    assert refused.json["code"] == "insufficient_scope"
    assert accepted_by(ada) == []


def test_anonymous_clients_are_asked_to_log_in(client, browser, ada):
    client.get(PAGE, status=401)
    client.post_json(PAGE, {"version": VERSION}, status=401)
    asked = client.get(to_page("/x"), headers=BROWSER, status=302)
    page = asked.follow(headers=BROWSER)
    page.form["username"], page.form["password"] = USERNAME, PASSWORD
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == to_page("/x")


def test_the_page_leads_to_another_host_of_the_site(make_site, ada):
    of = {
        "COOKIE_DOMAIN": "example.org",
        "PUBLIC_URL": "https://login.example.org",
        "NEXT_HOSTS": ("wiki.example.org",),
    }
    site = make_site(of=of)
    client = TestApp(site, extra_environ={"wsgi.url_scheme": "https"})
    client.authorization = ("Bearer", bearer(site, known_to(site, ada), terms=False)[_KEY][7:])
    for wanted in ("https://wiki.example.org/x?y=1", f"https://wiki.example.org{PAGE}"):
        page = client.get(to_page(wanted), headers=BROWSER)
        assert page.forms[0]["next"].value == wanted
        policy = page.headers["Content-Security-Policy"].split("; ")
        assert "form-action 'self' https://wiki.example.org" in policy
    page = client.get(to_page("https://evil.example/x"), headers=BROWSER)
    assert page.forms[0]["next"].value == ""


@pytest.mark.parametrize("version", ["1000-01-01", "2024-02-29", "9999-12-31"])
def test_the_page_shows_any_day(make_site, ada, version):
    site = make_site(version=version, of={"LANGUAGES": ("en", "ar", "ja")})
    ada = known_to(site, ada)
    for language in ("en", "ar", "ja"):
        browser = logged_in(site, ada, terms=False)
        page = browser.get(PAGE, headers={**BROWSER, "Accept-Language": language})
        assert page.html.html["lang"] == language
        assert page.html.main.find("time")["datetime"].startswith(version)


def test_without_the_setting_there_is_no_page(make_site, ada):
    site = make_site(version=None)
    TestApp(site).get(PAGE, headers=bearer(site, known_to(site, ada)), status=404)


def test_no_recent_proof_is_needed(browser):
    make_stale()
    submit(browser.get(PAGE, headers=BROWSER), accept=True)


def test_a_user_who_is_deleted_meanwhile_accepts_nothing(site, ada, monkeypatch):
    insert = acceptances.insert

    def delete_first(user, version):
        delete_user(user)
        return insert(user, version)

    headers = bearer(site, ada, terms=False)
    monkeypatch.setattr(acceptances, "insert", delete_first)
    TestApp(site).post_json(PAGE, {"version": VERSION}, headers=headers, status=200)
    assert number_of_rows(site) == 0


def accept_at_once(token, url):
    """Accept the terms when each process does; return the status."""
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    client = TestApp(with_terms(settings, login_required(echo)))
    client.authorization = ("Bearer", token)
    meet()
    status = client.post_json(PAGE, {"version": VERSION}, status="*").status_int
    return status, client.get("/", status="*").status_int


@pytest.mark.every_database
@pytest.mark.promise(97)
def test_of_eight_processes_that_accept_one_records_it(in_processes, settings, site, lacking):
    token = lacking["Authorization"].removeprefix("Bearer ")
    answers = in_processes(partial(accept_at_once, token), settings.DATABASE_URL)
    assert answers == [(200, 200)] * PROCESSES
    with context.using(site.database):
        assert Acceptance.select().count() == 1
        assert RecordedEvent.select().where(RecordedEvent.name == "terms_accepted").count() == 1
