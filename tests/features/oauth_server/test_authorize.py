"""GET, POST /auth/authorize: where it sends a browser, and what the app learns."""

from dataclasses import replace
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.logins import make_stale
from tests.support.oauth_apps import (
    AUTHORIZE,
    CALLBACK,
    CONSENT,
    ISSUER,
    STATE,
    App,
    RegisteredApp,
    answer_in,
    code_in,
    follow,
    walk,
)
from tests.support.service_keys import MAPS, REPORTS
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server.authorization import ASKED
from wsgiauth.features.oauth_server.tables import Consent, Grant
from wsgiauth.storage import context
from wsgiauth.testing import api_key, logged_in

CROSS_SITE = {**BROWSER, "Sec-Fetch-Site": "cross-site", "Origin": "https://wiki.example.org"}


@pytest.fixture
def anonymous(site):
    """Return a browser that is not logged in."""
    return TestApp(site, {"HTTP_HOST": "localhost:80"})


def open_page(client, url, status=None, headers=BROWSER):
    return client.get(url, headers=headers, status=status)


def path_of(answer):
    """Return the path of a redirect, and the request in its query or in its `next`."""
    url = urlsplit(answer.location)
    following = parse_qs(url.query).get("next")
    return url.path, urlsplit(following[0]).query if following else url.query


def log_in_here(client, page):
    """Send the login form of a page; return the answer."""
    form = next(each for each in page.forms.values() if "password" in each.fields)
    form["username"], form["password"] = USERNAME, PASSWORD
    return form.submit(headers=SAME_ORIGIN, status=303)


def confirm_here(page):
    """Send the password in the form of a page that asks for it; return the answer."""
    form = next(each for each in page.forms.values() if "password" in each.fields)
    form["password"] = PASSWORD
    return form.submit(headers=SAME_ORIGIN, status=303)


# The way of a browser


def test_a_user_logs_in_and_allows_the_app_and_gets_there_with_a_code(anonymous, ada, wiki):
    page = open_page(anonymous, open_page(anonymous, wiki.url(), 303).location)
    answer = log_in_here(anonymous, page)
    location = walk(anonymous, answer.location)
    assert location.startswith(f"{CALLBACK}?")
    assert answer_in(location).keys() == {"code", "state", "iss"}
    assert wiki.exchange(code_in(location))["scope"] == "openid profile email"


def test_a_user_who_has_allowed_it_before_gets_there_at_once(browser, wiki):
    walk(browser, wiki.url())
    answer = open_page(browser, wiki.url(), 303)
    assert answer.location.startswith(f"{CALLBACK}?code=")


def test_the_code_is_for_what_the_app_asked(browser, ada, site):
    ada.grant("reports.read")
    app = App(site, scopes=("openid", "reports.read"))
    answer = app.log_in(browser, scope="openid reports.read", resource=MAPS)
    assert answer["scope"] == "openid reports.read"
    assert Grant.get().resource == MAPS


@pytest.mark.promise(90)
def test_what_is_allowed_for_one_service_is_asked_for_another_one(browser, ada, site):
    ada.grant("reports.read")
    app = App(site, scopes=("openid", "offline_access", "reports.read"))
    app.log_in(browser, scope="openid reports.read", resource=REPORTS)
    app.log_in(browser, scope="openid offline_access", resource=MAPS)
    for scope, resource in (("reports.read", MAPS), ("offline_access", REPORTS), ("openid", None)):
        asked = open_page(browser, app.url(scope=scope, resource=resource), 303)
        assert urlsplit(asked.location).path == CONSENT
    answer = open_page(browser, app.url(scope="reports.read", resource=REPORTS), 303)
    assert answer.location.startswith(CALLBACK)
    (listed,) = browser.get("/auth/apps").json["apps"]
    services = [f"resource={each}" for each in sorted((REPORTS, MAPS))]
    assert sorted(listed["scopes"]) == sorted(
        ["openid", "offline_access", "reports.read", *services]
    )


@pytest.mark.promise(90)
@row_by_row("is_trusted", [False, True])
def test_a_public_app_gets_access_that_outlasts_a_logout_only_after_a_recent_proof(
    browser, site, is_trusted
):
    """Whoever has stolen a session could be the app, and stay after the logout."""
    app = App(
        site, is_public=True, is_trusted=is_trusted, scopes=("openid", "profile", "offline_access")
    )
    url = app.url(scope="openid offline_access")
    walk(browser, url)
    make_stale()
    asked = open_page(browser, url, 303)
    assert urlsplit(asked.location).path == "/auth/confirm"
    silent = open_page(browser, app.url(scope="openid offline_access", prompt="none"), 303)
    assert answer_in(silent.location)["error"] == "login_required"
    assert open_page(browser, app.url(scope="openid"), 303).location.startswith(CALLBACK)
    page = open_page(browser, asked.location)
    confirmed = confirm_here(page)
    assert open_page(browser, confirmed.location, 303).location.startswith(CALLBACK)


@row_by_row("decision", ["allow", "refuse"])
@row_by_row("state", [STATE, None, "ä &=?#%"])
def test_each_answer_has_the_state_and_the_issuer(browser, wiki, decision, state):
    found = answer_in(walk(browser, wiki.url(state=state), decision))
    assert (found.get("state"), found["iss"]) == (state, ISSUER)


def test_an_error_is_an_answer_with_the_state_and_the_issuer(anonymous, wiki):
    answer = open_page(anonymous, wiki.url(response_type="token"), 303)
    found = answer_in(answer.location)
    assert found == {
        "error": "unsupported_response_type",
        "error_description": "response_type must be code",
        "state": STATE,
        "iss": ISSUER,
    }


@pytest.mark.promise(89)
@row_by_row(
    ("changes", "headline"),
    [
        ({"client_id": "0123456789abcdef0123"}, "This app is not known here"),
        ({"redirect_uri": "https://evil.example.org"}, "This app cannot be opened"),
    ],
    ids=["client", "URI"],
)
@row_by_row("path", [AUTHORIZE, CONSENT])
def test_a_wrong_client_or_uri_is_a_page(browser, wiki, changes, headline, path):
    page = open_page(browser, wiki.url(path, prompt="none", **changes)[:1800], 400)
    assert page.html.h1.text == headline
    assert "Location" not in page.headers
    assert "evil" not in page.text


@pytest.mark.promise(89)
@row_by_row("path", [AUTHORIZE, CONSENT])
@row_by_row("changes", [{}, {"code_challenge": None}, {"response_mode": "form_post"}])
def test_a_request_that_is_too_long_is_a_page_without_an_echo(browser, wiki, path, changes):
    page = open_page(browser, wiki.url(path, state="hello" * 820, **changes), 400)
    assert page.html.h1.text == "This app cannot be opened"
    assert page.html.find("p", string="The request of the app that sent you here is too long.")
    assert "hello" not in page.text + str(page.headers)


@pytest.mark.promise(89)
@pytest.mark.parametrize("further", [{"LANGUAGES": ("en", "de")}], ids=[""])
def test_the_choice_of_a_language_repeats_nothing_either(browser, wiki):
    page = open_page(browser, wiki.url(state="hello" * 820), 400)
    assert "hello" not in page.text
    assert "language" in open_page(browser, wiki.url(client_id="x"), 400).text
    assert not page.forms


@pytest.mark.promise(89)
def test_a_form_that_is_too_long_is_a_page_without_an_echo(browser, wiki):
    for fields in ({"state": "hello" * 820}, {"ui_locales": "hello" * 1640}):
        page = browser.post(AUTHORIZE, wiki.parameters(**fields), headers=BROWSER, status=400)
        assert page.html.h1.text == "This app cannot be opened"
        assert "hello" not in page.text + str(page.headers)


def test_a_program_gets_no_page_for_a_form_that_is_too_long(client, wiki):
    fields = wiki.parameters(state="hello" * 820)
    answer = client.post(AUTHORIZE, fields, headers={"Accept": "application/json"}, status=400)
    assert answer.json["code"] == "invalid_request"
    assert "hello" not in answer.text


# Every redirect


@pytest.mark.parametrize("further", [{"SECOND_FACTOR": "all", "FACTOR_KEY": FACTOR_KEY}], ids=[""])
def test_every_redirect_is_303(site, ada, wiki):
    complete, incomplete = logged_in(site, ada), logged_in(site, ada, second_factor=False)
    found = set()
    for browser in (TestApp(site), incomplete, complete):
        for changes in ({}, {"prompt": "login"}, {"prompt": "create"}, {"prompt": "none"}):
            for long in ({}, {"state": "x" * 2000}):
                answer = open_page(browser, wiki.url(**changes, **long), 303)
                found.add(urlsplit(answer.location).path)
    walk(complete, wiki.url())
    found.add(urlsplit(open_page(complete, wiki.url(), 303).location).path)
    ways = ("login", "register", "totp", "confirm", "consent")
    assert found == {urlsplit(CALLBACK).path, *(f"/auth/{each}" for each in ways)}


# Answers with a code


@pytest.mark.promise(89)
def test_a_redirect_with_a_code_is_not_stored_and_leaks_by_no_referrer(browser, wiki):
    walk(browser, wiki.url())
    headers = open_page(browser, wiki.url(), 303).headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.promise(89)
def test_a_form_with_a_code_goes_to_the_app_alone(browser, wiki):
    walk(browser, wiki.url())
    page = open_page(browser, wiki.url(response_mode="form_post"), 200)
    (form,) = [each for each in page.forms.values() if "code" in each.fields]
    fields = {name: form[name].value for name in form.fields if name}
    assert (form.action, form.method) == (CALLBACK, "post")
    assert fields.keys() == {"code", "state", "iss"}
    assert (fields["state"], fields["iss"]) == (STATE, ISSUER)
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "strict-origin"
    policy = page.headers["Content-Security-Policy"]
    assert "form-action 'self' https://wiki.example.org;" in f"{policy};"
    assert "frame-ancestors 'none'" in policy
    assert wiki.exchange(fields["code"])["token_type"] == "Bearer"


def test_a_refusal_is_a_form_too(browser, wiki):
    page = open_page(browser, wiki.url(response_mode="form_post", response_type="token"), 200)
    (form,) = [each for each in page.forms.values() if "error" in each.fields]
    assert (form.action, form["error"].value) == (CALLBACK, "unsupported_response_type")


def test_head_is_answered_as_get_without_a_body(browser, wiki):
    walk(browser, wiki.url())
    answer = browser.head(wiki.url(response_mode="form_post"), headers=BROWSER, status=200)
    assert answer.body == b""


# POST


def test_a_form_of_the_app_begins_the_same_request(browser, wiki):
    answer = browser.post(AUTHORIZE, wiki.parameters(), headers=CROSS_SITE, status=303)
    assert path_of(answer)[0] == AUTHORIZE
    again = open_page(browser, answer.location, 303)
    assert path_of(again)[0] == CONSENT


@pytest.mark.promise(90)
def test_a_form_is_never_the_consent(browser, wiki):
    form = wiki.parameters(decision="allow", scope="openid profile email")
    for path in (AUTHORIZE, wiki.url()):
        answer = browser.post(path, form, headers=CROSS_SITE, status=303)
        assert "code=" not in answer.location
    assert not Consent.select().exists()


def test_json_begins_no_request(browser, wiki):
    browser.post_json(AUTHORIZE, wiki.parameters(), headers=BROWSER, status=415)


# prompt


@pytest.mark.promise(95)
def test_a_silent_request_of_an_anonymous_browser_is_answered(anonymous, wiki):
    found = answer_in(open_page(anonymous, wiki.url(prompt="none"), 303).location)
    assert (found["error"], found["state"]) == ("login_required", STATE)


@pytest.mark.promise(95)
@row_by_row("hint", ["Ada", "Grace", "nobody"], ids=["other", "user", "unknown"])
def test_a_silent_request_says_nothing_about_other_users(anonymous, ada, grace, site, wiki, hint):
    walk(logged_in(site, grace), wiki.url())  # elsewhere
    expected = open_page(anonymous, wiki.url(prompt="none"), 303)
    answer = open_page(anonymous, wiki.url(prompt="none", login_hint=hint), 303)
    assert answer.location == expected.location
    assert {**answer.headers} == {**expected.headers}


@pytest.mark.promise(95)
def test_a_silent_request_reads_no_user_without_a_session(anonymous, ada, wiki, queries):
    open_page(anonymous, wiki.url(prompt="none"), 303)
    sent = queries(lambda: open_page(anonymous, wiki.url(prompt="none", login_hint=USERNAME)))
    assert [each for each in sent if "wsgiauth_user" in each] == []


@pytest.mark.promise(95)
def test_a_silent_request_of_an_ended_session_is_as_of_none(browser, anonymous, wiki):
    expected = open_page(anonymous, wiki.url(prompt="none"), 303).location
    with context.using(browser.app.database):
        Session.delete().execute()
    assert open_page(browser, wiki.url(prompt="none"), 303).location == expected


@pytest.mark.promise(95)
def test_a_silent_request_needs_a_consent(browser, wiki):
    for path in (AUTHORIZE, CONSENT):
        answer = follow(browser, wiki.url(path, prompt="none"))
        assert answer_in(answer.location)["error"] == "consent_required"


def test_a_silent_request_gets_a_code_after_the_consent(browser, wiki):
    walk(browser, wiki.url())
    assert "code" in answer_in(open_page(browser, wiki.url(prompt="none"), 303).location)


@pytest.mark.promise(95)
def test_a_silent_request_needs_a_recent_login(browser, wiki, clock):
    walk(browser, wiki.url())
    clock.move(61)
    found = answer_in(open_page(browser, wiki.url(prompt="none", max_age="60"), 303).location)
    assert found["error"] == "login_required"


@pytest.mark.promise(95)
def test_only_an_app_that_was_allowed_learns_of_groups(browser, site, ada):
    app = App(site, group=Group.create(name="Staff"))

    def silent():
        return answer_in(open_page(browser, app.url(prompt="none"), 303).location)["error"]

    assert silent() == "consent_required"
    ada.join("Staff")
    app.log_in(browser)
    ada.leave("Staff")
    assert silent() == "access_denied"


@pytest.mark.promise(95)
def test_no_app_learns_which_permissions_a_user_lacks(browser, site, ada):
    app = App(site, scopes=["reports.read"])
    request = app.url(scope="reports.read", prompt="none")
    before = answer_in(open_page(browser, request, 303).location)["error"]
    ada.grant("reports.read")
    assert answer_in(open_page(browser, request, 303).location)["error"] == before


@pytest.mark.promise(90)
def test_a_service_needs_a_consent_of_its_own(browser, site, wiki):
    wiki.log_in(browser)
    again = wiki.url(resource=REPORTS, prompt="none")
    assert answer_in(open_page(browser, again, 303).location)["error"] == "consent_required"
    page = follow(browser, wiki.url(resource=REPORTS))
    assert f"Use the service {REPORTS}" in page
    wiki.log_in(browser, resource=REPORTS)
    assert "code" in answer_in(open_page(browser, again, 303).location)


@pytest.mark.promise(90)
def test_lasting_access_needs_a_recent_proof(browser, site):
    app = App(site, scopes=["openid", "offline_access"])
    make_stale()
    assert follow(browser, app.url(scope="openid offline_access")).request.path == "/auth/confirm"
    app.log_in(browser, scope="openid")


@pytest.mark.promise(92)
def test_a_second_factor_that_the_site_demands_later_counts_for_apps_too(browser, wiki, settings):
    tokens, code = wiki.log_in(browser), code_in(walk(browser, wiki.url()))
    stricter = AuthMiddleware(echo, replace(settings, SECOND_FACTOR="all", FACTOR_KEY=FACTOR_KEY))
    wiki.program.app = stricter
    assert wiki.refresh(tokens["refresh_token"], 400)["error"] == "invalid_grant"
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"


@pytest.mark.promise(90)
def test_an_app_on_a_computer_is_asked_about_each_time(browser, site):
    app = App(site, "Desk", "http://127.0.0.1/callback", is_public=True)
    app.log_in(browser)
    silent = open_page(browser, app.url(prompt="none"), 303)
    assert answer_in(silent.location)["error"] == "consent_required"


@pytest.mark.parametrize("changes", [{"prompt": "login"}, {"max_age": "0"}], ids=["prompt", "age"])
def test_a_new_proof_is_asked_for_once(browser, wiki, clock, changes):
    walk(browser, wiki.url())
    clock.move(10)
    answer = open_page(browser, wiki.url(**changes), 303)
    assert path_of(answer)[0] == "/auth/confirm"
    clock.move(10)
    answer = confirm_here(open_page(browser, answer.location, 200))
    location = walk(browser, answer.location)
    assert "code" in answer_in(location)
    wiki.exchange(code_in(location))
    assert Grant.get().authenticated_at == clock.now


@pytest.mark.parametrize("changes", [{"prompt": "login"}, {"max_age": "0"}], ids=["prompt", "age"])
def test_a_login_is_proof_enough(anonymous, ada, wiki, clock, changes):
    answer = open_page(anonymous, wiki.url(**changes), 303)
    clock.move(10)
    answer = log_in_here(anonymous, open_page(anonymous, answer.location, 200))
    assert "code" in answer_in(walk(anonymous, answer.location))


def test_the_question_is_not_answered_by_going_back(browser, wiki, clock):
    clock.move(10)
    _path, query = path_of(open_page(browser, wiki.url(prompt="login"), 303))
    for path in (AUTHORIZE, CONSENT):
        page = follow(browser, f"{path}?{query}")
        assert page.html.h1.text == "Confirm that it is you"


def test_an_older_answer_is_none_to_a_new_question(browser, wiki, clock):
    clock.move(10)
    answer = open_page(browser, wiki.url(prompt="login"), 303)
    confirm_here(open_page(browser, answer.location, 200))
    clock.move(10)
    assert path_of(open_page(browser, wiki.url(prompt="login"), 303))[0] == "/auth/confirm"


def test_the_time_of_a_question_is_in_no_request_of_the_app(browser, wiki, clock):
    clock.move(10)
    forged = wiki.url(prompt="login", **{ASKED: f"{clock.now - 100}.{'x' * 43}"})
    assert path_of(open_page(browser, forged, 303))[0] == "/auth/confirm"


def test_max_age_is_of_the_last_proof(browser, wiki, clock):
    walk(browser, wiki.url())
    clock.move(60)
    assert "code" in answer_in(open_page(browser, wiki.url(max_age="60"), 303).location)
    clock.move(1)
    assert path_of(open_page(browser, wiki.url(max_age="60"), 303))[0] == "/auth/confirm"


@pytest.mark.parametrize("prompt", ["consent", "select_account", "login consent"])
def test_the_app_can_let_the_user_be_asked_again(browser, wiki, prompt):
    walk(browser, wiki.url())
    answer = open_page(browser, wiki.url(prompt=prompt))
    if "login" in prompt:
        answer = confirm_here(open_page(browser, answer.location, 200))
        answer = open_page(browser, answer.location, 303)
    assert path_of(answer)[0] == CONSENT
    assert "code" in answer_in(walk(browser, answer.location))


# The login


@row_by_row("hint", ["Ada", "nobody@example.org", '"><script>', "x" * 254])
def test_the_login_form_begins_with_the_name_that_the_app_suggests(anonymous, ada, wiki, hint):
    page = open_page(anonymous, open_page(anonymous, wiki.url(login_hint=hint), 303).location)
    form = next(each for each in page.forms.values() if "password" in each.fields)
    assert form["username"].value == hint


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"login_hint": "Your account is closed, call 0800-1234"}, id="a sentence"),
        pytest.param({"login_hint": "x" * 255}, id="too long"),
        pytest.param({"client_id": "unknown"}, id="unknown app"),
        pytest.param({"client_id": None}, id="no app"),
        pytest.param({"redirect_uri": "https://evil.example/"}, id="another URI"),
    ],
)
def test_no_link_lets_the_login_form_say_something_else(anonymous, wiki, changes):
    url = wiki.url(**{"login_hint": "Ada", **changes})
    page = anonymous.get("/auth/login", {"next": url}, headers=BROWSER)
    form = next(each for each in page.forms.values() if "password" in each.fields)
    assert form["username"].value == ""


@pytest.mark.parametrize("further", [{"OAUTH_REGISTRATION": True}])
def test_an_app_that_has_registered_itself_suggests_no_name(site, anonymous):
    editor = RegisteredApp(site)
    page = open_page(anonymous, open_page(anonymous, editor.url(login_hint="Ada"), 303).location)
    form = next(each for each in page.forms.values() if "password" in each.fields)
    assert form["username"].value == ""


@row_by_row("path", ["/auth/account", "/auth/authorize", "/authorize"])
def test_only_a_request_suggests_a_name(anonymous, wiki, path):
    query = urlsplit(wiki.url(login_hint="Ada")).query
    wanted = f"{path}?{query}&next=/auth/authorize"
    page = anonymous.get("/auth/login", {"next": wanted}, headers=BROWSER)
    form = next(each for each in page.forms.values() if "password" in each.fields)
    assert form["username"].value == ("Ada" if path == AUTHORIZE else "")


# Who can be the user


ACCEPTED = [None, "*/*", "application/json", "text/event-stream", "*/*, text/html;q=0.1"]


@row_by_row("accept", ACCEPTED)
@row_by_row("method", ["GET", "HEAD"])
def test_it_is_opened_in_a_browser_whatever_accept_says(site, browser, wiki, accept, method):
    headers = {"Sec-Fetch-Mode": "cors"}  # as Node's fetch sends
    headers |= {"Accept": accept} if accept else {}

    def ask(client, **changes):
        return client.request(wiki.url(**changes), method=method, headers=headers, status="*")

    answer = ask(TestApp(site))
    assert (answer.status_int, path_of(answer)[0]) == (303, "/auth/login")
    answer = ask(browser)
    assert (answer.status_int, path_of(answer)[0]) == (303, CONSENT)
    answer = ask(TestApp(site), prompt="none")
    assert answer_in(answer.location)["error"] == "login_required"
    answer = ask(TestApp(site), client_id="x")
    assert (answer.status_int, answer.content_type) == (400, "text/html")


def test_head_has_the_headers_of_get_and_writes_no_row(browser, wiki):
    walk(browser, wiki.url())
    events = RecordedEvent.select().count()
    names = []
    for open_with in (browser.head, browser.get):
        answer = open_with(wiki.url(), headers=BROWSER, status=303)
        assert "code" in answer_in(answer.location)
        names.append([name for name, _value in answer.headerlist])
    assert names[0] == names[1]
    assert (Grant.select().count(), RecordedEvent.select().count()) == (0, events)


@row_by_row(
    ("headers", "code"),
    [
        ({"Sec-Fetch-Dest": "iframe"}, "embedded"),
        ({"Sec-Fetch-Dest": "image"}, "embedded"),
        ({"Sec-Purpose": "prefetch"}, "prefetch"),
    ],
    ids=["a frame", "an image", "in advance"],
)
def test_only_a_page_that_is_opened_gets_a_code(site, browser, headers, code, caplog):
    answer = browser.get(App(site, is_trusted=True).url(), headers=headers, status=403)
    assert (answer.content_type, "Location" in answer.headers) == ("text/html", False)
    assert f"reason={code}" in caplog.text
    caplog.clear()


def test_credentials_in_a_header_are_ignored(site, client, ada):
    """A proxy can ask for a password of its own. An app never sends any here."""
    app = App(site, is_trusted=True)
    token = sessions.start(ada, site.site.tokens).token
    for headers in (
        {"Authorization": f"Bearer {token}"},
        api_key(site, ada),
        {"Authorization": "Basic YTpi"},
    ):
        answer = client.get(app.url(), headers=headers, status=303)
        assert path_of(answer)[0] == "/auth/login"
        silent = client.get(app.url(prompt="none"), headers=headers, status=303)
        assert answer_in(silent.location)["error"] == "login_required"


@pytest.mark.promise(95)
@pytest.mark.parametrize("further", [{"SECOND_FACTOR": "all", "FACTOR_KEY": FACTOR_KEY}], ids=[""])
def test_a_session_without_its_second_factor_is_no_login(site, ada, wiki):
    browser = logged_in(site, ada, second_factor=False)
    asked = open_page(browser, wiki.url(), 303)
    silent = open_page(browser, wiki.url(prompt="none"), 303)
    assert path_of(asked) == ("/auth/totp", urlencode(wiki.parameters()))
    assert answer_in(silent.location)["error"] == "interaction_required"


@pytest.mark.parametrize("further", [{"SECOND_FACTOR": "all", "FACTOR_KEY": FACTOR_KEY}], ids=[""])
def test_the_missing_second_factor_is_the_new_proof(site, ada, wiki):
    browser = logged_in(site, ada, second_factor=False)
    _path, query = path_of(open_page(browser, wiki.url(prompt="login"), 303))
    assert query.startswith(f"{urlencode(wiki.parameters(prompt='login'))}&{ASKED}=")


@pytest.mark.parametrize("further", [{"FACTOR_KEY": FACTOR_KEY}], ids=[""])
def test_the_second_step_of_a_login_leads_back_to_the_app(site, ada, wiki, anonymous):
    factor = add_app(site, ada)
    url = wiki.url(prompt="login", state="x" * 1000)
    page = open_page(anonymous, open_page(anonymous, url, 303).location)
    answer = log_in_here(anonymous, page)
    assert path_of(answer)[0] == "/auth/second"
    page = open_page(anonymous, answer.location, 200)
    policy = page.headers["Content-Security-Policy"].split("; ")
    assert "form-action 'self' https://wiki.example.org" in policy
    form = next(each for each in page.forms.values() if "code" in each.fields)
    form["code"] = factor.code()
    answer = form.submit(headers=SAME_ORIGIN, status=303)
    assert "code" in answer_in(walk(anonymous, answer.location))


# Who is let in, without a question, and with which scopes


@pytest.mark.parametrize("path", [AUTHORIZE, CONSENT])
def test_who_is_not_in_the_group_of_the_app_gets_a_page(browser, ada, site, path):
    app = App(site, group=Group.create(name="Staff"))
    answer = open_page(browser, app.url(path), "*")
    if path == CONSENT:
        assert path_of(answer)[0] == AUTHORIZE
        answer = open_page(browser, answer.location, 403)
    assert (answer.status_int, answer.html.h1.text) == (403, "You cannot use this app")
    (link,) = [each["href"] for each in answer.html.find_all("a") if CALLBACK in each["href"]]
    found = answer_in(link)
    assert (found["error"], found["state"], found["iss"]) == ("access_denied", STATE, ISSUER)


def test_who_is_not_in_the_group_goes_back_by_a_form_if_the_app_wants_one(browser, site):
    app = App(site, group=Group.create(name="Staff"))
    page = open_page(browser, app.url(response_mode="form_post"), 403)
    (form,) = [each for each in page.forms.values() if "error" in each.fields]
    assert (form.action, form["error"].value, form["iss"].value) == (
        CALLBACK,
        "access_denied",
        ISSUER,
    )
    policy = page.headers["Content-Security-Policy"].split("; ")
    assert "form-action 'self' https://wiki.example.org" in policy


def test_a_member_of_the_group_gets_in(browser, ada, site):
    group = Group.create(name="Staff")
    ada.join(group)
    assert "code" in answer_in(walk(browser, App(site, group=group).url()))


def test_no_user_is_in_a_group_that_was_deleted(browser, ada, site):
    group = Group.create(name="Staff")
    app = App(site, group=group)
    ada.join(group)
    group.delete_instance()
    open_page(browser, app.url(), 403)


@pytest.mark.promise(90)
def test_only_an_app_that_an_operator_trusts_needs_no_consent(browser, site, wiki):
    trusted = App(site, "Portal", is_trusted=True)
    assert "code" in answer_in(open_page(browser, trusted.url(), 303).location)
    assert path_of(open_page(browser, wiki.url(), 303))[0] == CONSENT


@pytest.mark.promise(90)
def test_a_user_is_asked_again_for_further_scopes_only(browser, wiki):
    walk(browser, wiki.url(scope="openid profile"))
    for scope, is_asked in (
        ("openid", False),
        ("profile openid", False),
        ("openid email", True),
        ("openid profile email", True),
    ):
        answer = open_page(browser, wiki.url(scope=scope), 303)
        assert (path_of(answer)[0] == CONSENT) is is_asked, scope


@pytest.mark.promise(90)
def test_two_consents_do_not_add_up_to_a_third_one(browser, wiki):
    for scope in ("openid profile", "openid email"):
        walk(browser, wiki.url(scope=scope))
    answer = open_page(browser, wiki.url(scope="openid profile email"), 303)
    assert path_of(answer)[0] == CONSENT


@pytest.mark.promise(90)
def test_a_consent_is_to_one_app(browser, site, wiki):
    walk(browser, wiki.url())
    assert path_of(open_page(browser, App(site, "Other").url(), 303))[0] == CONSENT


@pytest.mark.promise(90)
def test_a_consent_is_of_one_user(browser, site, grace, wiki):
    walk(browser, wiki.url())
    assert path_of(open_page(logged_in(site, grace), wiki.url(), 303))[0] == CONSENT


@row_by_row("path", [AUTHORIZE, CONSENT])
def test_a_request_for_scopes_of_which_none_is_possible_is_refused(browser, wiki, path):
    found = answer_in(open_page(browser, wiki.url(path, scope="reports.read"), 303).location)
    assert found["error"] == "invalid_scope"


def test_a_request_without_scopes_is_possible(browser, wiki):
    assert wiki.log_in(browser, scope=None)["scope"] == ""


# Other settings


@pytest.mark.parametrize("further", [{"OAUTH_SERVER": False}], ids=[""])
@row_by_row("path", [AUTHORIZE, CONSENT])
def test_a_site_that_is_no_provider_has_no_such_page(client, path):
    client.get(path, status=404)
    client.post(path, headers=SAME_ORIGIN, status=404)


@pytest.mark.parametrize("further", [{"PUBLIC_URL": f"{ISSUER}/base"}], ids=[""])
def test_the_site_can_be_mounted_below_a_path(site, wiki):
    browser = TestApp(site, {"HTTP_HOST": "localhost:80", "SCRIPT_NAME": "/base"})
    answer = open_page(browser, wiki.url(), 303)
    assert path_of(answer) == ("/base/auth/login", urlencode(wiki.parameters()))
    refused = open_page(browser, wiki.url(response_type="token"), 303)
    assert answer_in(refused.location)["iss"] == f"{ISSUER}/base"
