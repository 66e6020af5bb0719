"""GET and POST /auth/language, and the language of every answer."""

import time
from dataclasses import replace
from pathlib import Path

import peewee
import pytest
from webtest import TestApp

from tests.support.mails import MAIL
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, login_required, permission_required, reader_language, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.events.models import RecordedEvent
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in, make_user
from wsgiauth.web.clients import Client

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
COOKIE, CHOSEN = "wsgiauth-language", "wsgiauth-chosen"


@pytest.fixture
def settings(settings):
    """Return those of a site of several languages, whose default is French."""
    return replace(settings, LANGUAGES=("fr", "en", "de", "ar"))


def language_of(client, path="/auth/login", header="", **headers):
    """Return the language of a page, which its header and its HTML name alike."""
    sent = {**BROWSER, "Accept-Language": header, **headers}
    answer = client.get(path, headers=sent, status="*")
    assert answer.headers["Content-Language"] == answer.html.html["lang"]
    assert answer.headers["Vary"] == "Accept-Language, Cookie"
    return answer.html.html["lang"]


def list_in(page):
    """Return the form at the foot."""
    (form,) = (each for each in page.forms.values() if each.action == "/auth/language")
    return form


def choose(client, language, path="/auth/login"):
    form = list_in(client.get(path, headers=BROWSER))
    return form.submit("language", value=language, headers=SAME_ORIGIN)


@pytest.mark.promise(76)
def test_the_browser_asks_for_a_language_of_the_site(client):
    for header, expected in [
        ("de", "de"),
        ("de-AT, en;q=0.5", "de"),
        ("en;q=0.5, de;q=0.9", "de"),
        ("DE", "de"),
        ("it, ar;q=0.1", "ar"),
        ("zh-Hant-TW", "fr"),
        ("*", "fr"),
        ("de;q=0", "fr"),
        ("", "fr"),
        ("de;;", "fr"),
        ("../de", "fr"),
        ("ja", "fr"),  # is shipped, but none of this site
        ("x" * 900 + ", de", "fr"),
        ("de, " * 300, "fr"),
    ]:
        assert language_of(client, header=header) == expected, (header, expected)


def test_an_error_is_in_the_same_language(settings):
    client = TestApp(AuthMiddleware(login_required()(echo), settings))
    for path, status in {"/auth/nowhere": 404, "/auth/account": 401, "/anything": 401}.items():
        answer = client.get(path, headers={"Accept-Language": "de"}, status=status)
        assert answer.headers["Content-Language"] == "de", path
        assert answer.headers["Vary"] == "Accept-Language, Cookie", path


def test_a_page_has_the_direction_of_its_language(client):
    html = client.get("/auth/login", headers={"Accept-Language": "ar"}).html.html
    assert (html["lang"], html["dir"]) == ("ar", "rtl")


def test_each_page_lists_the_languages_and_leads_back(client):
    page = client.get("/auth/login?next=/reports", headers=BROWSER)
    buttons = page.html.footer.select(".languages button")
    assert [each["value"] for each in buttons] == ["fr", "en", "de", "ar"]
    assert [each["lang"] for each in buttons] == ["fr", "en", "de", "ar"]
    assert [each["value"] for each in buttons if each.get("aria-current")] == ["fr"]
    answer = list_in(page).submit("language", value="de", headers=SAME_ORIGIN, status=303)
    assert answer.location == "/auth/login?next=/reports"
    assert answer.follow(headers=BROWSER).html.html["lang"] == "de"


def test_the_choice_is_a_cookie_of_a_year(client):
    answer = choose(client, "de")
    assert answer.headers.getall("Set-Cookie") == [
        f"{COOKIE}=de; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax",
        f"{CHOSEN}=de; Max-Age=600; Path=/; HttpOnly; SameSite=Lax",
    ]
    assert language_of(client, header="ar") == "de"


def test_the_cookie_has_the_prefix_over_https(site):
    client = TestApp(site, extra_environ={"wsgi.url_scheme": "https"})
    answer = client.post("/auth/language", {"language": "de"}, headers=SAME_ORIGIN)
    for cookie, name in zip(answer.headers.getall("Set-Cookie"), (COOKIE, CHOSEN), strict=True):
        assert cookie.startswith(f"__Host-{name}=de; ")


@pytest.mark.promise(76)
def test_a_cookie_or_a_form_with_another_language_is_ignored(client):
    for value in ["it", "DE", "ja", "../de", "", "de_DE", "de,fr"]:
        client.set_cookie(COOKIE, value)
        assert language_of(client, header="ar") == "ar", value
        answer = client.post("/auth/language", {"language": value}, headers=SAME_ORIGIN, status=422)
        assert "Set-Cookie" not in answer.headers, value
        refused = client.post_json("/auth/language", {"language": value}, status=422)
        assert refused.json["errors"].keys() == {"language"}, value


def test_without_a_choice_the_page_of_languages_is_shown(client):
    page = client.get("/auth/language?next=/reports", headers=BROWSER)
    assert page.html.footer is None
    answer = page.form.submit("language", value="en", headers=SAME_ORIGIN, status=303)
    assert answer.location == "/reports"


def test_the_choice_leads_home_without_a_path_of_the_site(client):
    for next_page in ["", "//evil.example", "https://evil.example/", "\\evil"]:
        fields = {"language": "de", "next": next_page}
        answer = client.post("/auth/language", fields, headers=SAME_ORIGIN, status=303)
        assert answer.location == "/", next_page


def test_another_site_chooses_no_language(client):
    answer = client.post(
        "/auth/language", {"language": "de"}, headers={"Sec-Fetch-Site": "cross-site"}, status=403
    )
    assert "Set-Cookie" not in answer.headers


def test_a_script_and_a_program_get_the_language_as_json(client):
    answer = client.post("/auth/language", {"language": "de"}, headers=SCRIPT, status=200)
    assert answer.json == {"language": "de"}
    assert client.post_json("/auth/language", {"language": "en"}).json == {"language": "en"}


@pytest.mark.every_database
def test_the_choice_of_a_user_is_stored_and_goes_with_them(site, ada):
    browser = logged_in(site, ada)
    choose(browser, "de", "/auth/account")
    assert User.get_by_id(ada.id).language == "de"
    assert browser.get("/auth/me").json["language"] == "de"
    other = logged_in(site, ada)
    assert language_of(other, "/auth/account", header="ar") == "de"
    program = TestApp(site).get("/auth/nowhere", headers=bearer(site, ada), status=404)
    assert program.headers["Content-Language"] == "de"
    guarded = other.get("/auth/admin/users", headers=BROWSER, status=404)
    assert guarded.headers["Content-Language"] == "de"


def test_the_same_choice_again_is_no_change(site, ada):
    browser = logged_in(site, ada)
    for language in ("de", "de", "ar"):
        choose(browser, language, "/auth/account")
    with context.using(site.database):
        trail = RecordedEvent.select().where(RecordedEvent.name == "language_changed")
        assert [each.reason for each in trail.order_by(RecordedEvent.id)] == ["de", "ar"]


def test_a_session_goes_on_after_a_choice(site, ada):
    browser = logged_in(site, ada)
    choose(browser, "de", "/auth/account")
    browser.get("/auth/me", status=200)


@pytest.mark.promise(76)
def test_a_language_that_the_site_has_no_more_is_ignored(site, ada):
    update_user(ada, language="ja")
    assert language_of(logged_in(site, ada), "/auth/account", header="de") == "de"


@pytest.mark.promise(76)
def test_an_anonymous_client_gets_no_stored_language(site, client, ada):
    update_user(ada, language="de")
    fields = {"username": USERNAME, "password": "wrong"}
    answer = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=401)
    assert answer.headers["Content-Language"] == "fr"
    browser = logged_in(site, ada)
    browser.post("/auth/logout", headers=SAME_ORIGIN)
    assert language_of(browser) == "fr"


@pytest.mark.promise(79)
def test_the_list_of_a_user_changes_no_other_account(settings):
    """On each kind of page, also those of the application and of errors."""
    app = permission_required("reports.read", redirect_url="/auth/login")(echo)
    site = AuthMiddleware(app, replace(settings, **MAIL), send_mail=print)
    browser, other = (logged_in(site, make_user(site, name)) for name in ("Ada", "Grace"))
    for path, status in {
        "/auth/language": 200,
        "/auth/login": 200,
        "/auth/account": 200,
        "/auth/nowhere": 404,
        "/auth/reset?token=x": 410,
        "/anything": 403,
    }.items():
        page = browser.get(path, headers=BROWSER, status=status)
        form = list_in(page)
        assert form["account"].value, path
        fields = [(name, value) for name, value in form.submit_fields() if name != "language"]
        sent = [*fields, ("language", "de")]
        other.post("/auth/language", sent, headers=SAME_ORIGIN, status=403)
        browser.post("/auth/language", sent, headers=SAME_ORIGIN, status=303)
    assert [each.language for each in User.select().order_by(User.id)] == ["de", ""]
    site.site.outbox.stop()
    storage.discard_connection(site.database)


def test_an_api_key_changes_no_account(site, client, ada):
    headers = api_key(site, ada, [])
    client.post_json("/auth/language", {"language": "de"}, headers=headers, status=200)
    assert User.get_by_id(ada.id).language == ""


@pytest.mark.every_database
def test_a_registration_and_the_first_login_store_what_the_browser_asks_for(client):
    fields = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
    client.post_json("/auth/register", fields, headers={"Accept-Language": "de"}, status=201)
    assert User.get().language == "de"
    credentials = {"username": USERNAME, "password": PASSWORD}
    client.post_json("/auth/login", credentials, headers={"Accept-Language": "ar"}, status=200)
    assert User.get().language == "de"


def test_the_first_login_that_asks_for_a_language_stores_it(client, ada):
    credentials = {"username": USERNAME, "password": PASSWORD}
    for header, stored in {"it": "", "": "", "ar": "ar", "de": "ar"}.items():
        client.post_json("/auth/login", credentials, headers={"Accept-Language": header})
        assert User.get_by_id(ada.id).language == stored, header


def test_the_first_login_by_form_stores_the_language_of_the_browser(client, ada):
    credentials = {"username": USERNAME, "password": PASSWORD}
    headers = SAME_ORIGIN | {"Accept-Language": "ar"}
    client.post("/auth/login", credentials, headers=headers, status=303)
    assert User.get_by_id(ada.id).language == "ar"


def log_in_by_form(client, page="/auth/login"):
    form = client.get(page, headers=BROWSER).forms[0]
    form["username"], form["password"] = USERNAME, PASSWORD
    return form.submit(headers=SAME_ORIGIN, status=303)


def changes():
    """Return the languages in the audit trail."""
    trail = RecordedEvent.select().where(RecordedEvent.name == "language_changed")
    return [each.reason for each in trail.order_by(RecordedEvent.id)]


@pytest.mark.every_database
def test_a_choice_before_the_login_is_stored_by_the_login(client, ada):
    update_user(ada, language="ar")
    choose(client, "de")
    log_in_by_form(client)
    assert User.get_by_id(ada.id).language == "de"
    assert changes() == ["ar", "de"]
    assert language_of(client, "/auth/account", header="ar") == "de"


def test_a_choice_before_the_login_counts_once(client, ada):
    choose(client, "de")
    log_in_by_form(client)
    update_user(ada, language="fr")
    client.post("/auth/logout", headers=SAME_ORIGIN)
    log_in_by_form(client)
    assert User.get_by_id(ada.id).language == "fr"


def test_a_failed_login_stores_no_choice(client, ada):
    choose(client, "de")
    fields = {"username": USERNAME, "password": "wrong"}
    client.post("/auth/login", fields, headers=SAME_ORIGIN, status=401)
    assert User.get_by_id(ada.id).language == ""
    log_in_by_form(client)
    assert User.get_by_id(ada.id).language == "de"


def test_a_login_of_a_program_stores_no_choice(site, ada):
    update_user(ada, language="ar")
    fields = {"username": USERNAME, "password": PASSWORD}
    client = TestApp(site)
    choose(client, "de")
    client.post_json("/auth/login", fields, status=200)
    assert User.get_by_id(ada.id).language == "ar"


@pytest.mark.promise(5)
def test_a_login_that_comes_too_late_stores_no_choice(ada, tokens):
    stale = User.get_by_id(ada.id)
    User.update(security_stamp=User.security_stamp + 1).execute()
    assert sessions.start(stale, tokens, client=Client(chosen="de")) is None
    assert User.get_by_id(ada.id).language == ""
    assert changes() == []


def test_a_site_of_one_language_has_no_list(settings):
    site = AuthMiddleware(echo, replace(settings, LANGUAGES=("en",)))
    page = TestApp(site).get("/auth/login", headers=BROWSER | {"Accept-Language": "de"})
    assert page.html.footer.form is None
    assert page.headers["Content-Language"] == "en"


def test_the_guards_of_the_application_answer_in_the_language_of_the_user(site, ada):
    update_user(ada, language="de")
    browser = logged_in(site.around(permission_required("reports.publish")(echo)), ada)
    refused = browser.get("/", headers=BROWSER | {"Accept-Language": "ar"}, status=403)
    assert refused.headers["Content-Language"] == refused.html.html["lang"] == "de"
    refused = browser.get("/", headers={"Accept-Language": "ar"}, status=403)
    assert refused.headers["Content-Language"] == "de"
    assert refused.json["code"] == "forbidden"
    assert "Berechtigung" in refused.json["detail"]


def test_the_user_of_a_middleware_around_this_one_does_not_choose(site, settings, ada, tmp_path):
    update_user(ada, language="de")
    other = f"sqlite:///{tmp_path}/inner.db"
    inner = AuthMiddleware(echo, replace(settings, DATABASE_URL=other), mount="/inner")
    browser = logged_in(site.around(inner), ada)
    answer = browser.get("/inner/login", headers=BROWSER | {"Accept-Language": "ar"})
    assert answer.html.html["lang"] == "ar"
    storage.discard_connection(inner.database)


def test_without_the_database_the_browser_chooses(site, ada, database_url):
    update_user(ada, language="de")
    browser = logged_in(site, ada)
    storage.discard_connection(site.database)
    file = Path(database_url.removeprefix("sqlite:///"))
    file.unlink()
    file.mkdir()
    assert language_of(browser, "/auth/forgot", header="ar") == "ar"
    assert language_of(browser, "/auth/account", header="ar") == "ar"
    answer = browser.get("/auth/account", headers=BROWSER, status=503)
    assert answer.headers["Content-Language"] == "fr"


def test_an_error_message_is_in_the_language_of_the_reader_and_its_code_in_english(client):
    fields = {"username": USERNAME, "email": EMAIL, "password": "password"}
    headers = {"Accept-Language": "de"}
    refused = client.post_json("/auth/register", fields, headers=headers, status=422).json
    assert refused["code"] == "invalid"
    assert refused["title"] == "Unprocessable Content"
    assert "Passwort" in refused["errors"]["password"][0]


def choose_on(page, language="de"):
    """Choose a language on a page that a form got, and return where that leads."""
    return list_in(page).submit("language", value=language, headers=SAME_ORIGIN).location


def test_a_choice_on_a_refused_form_leads_back_to_it_with_its_next(client):
    fields = {"username": USERNAME, "password": "wrong", "next": "/reports?year=1843"}
    page = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=401)
    assert choose_on(page) == "/auth/login?next=%2Freports%3Fyear%3D1843"


def test_a_choice_on_a_refused_form_of_a_link_keeps_the_link(site, client, ada, settings):
    reset = replace(settings, PUBLIC_URL="http://localhost")
    client = TestApp(AuthMiddleware(echo, reset))
    with context.using(client.app.database):
        link = make_reset_link(ada, reset, mount="/auth", now=time.time())
    token = link.partition("?token=")[2]
    fields = {"token": token, "password": "x"}
    page = client.post("/auth/reset", fields, headers=SAME_ORIGIN, status=422)
    answer = client.get(choose_on(page), headers=BROWSER, status=200)
    assert answer.html.find(attrs={"name": "token"})["value"] == token


def test_a_page_that_is_shown_once_has_no_list(site, ada):
    browser = logged_in(site, ada)
    fields = {"name": "export", "days": "1"}
    made = browser.post("/auth/keys", fields, headers=SAME_ORIGIN, status=201)
    assert "data-shown-once" in made
    assert made.html.footer.form is None


@pytest.mark.promise(76)
def test_a_proxy_that_asks_for_an_anonymous_client_gets_no_stored_language(settings, ada):
    update_user(ada, language="de")
    site = AuthMiddleware(echo, replace(settings, FORWARD_AUTH=True))
    with context.using(storage.current()):
        browser = logged_in(site, User.get_by_id(ada.id))
    headers = {"Sec-Fetch-Site": "cross-site", "X-Forwarded-Method": "POST"}
    headers |= {"X-Forwarded-Uri": "/x", "Accept": "application/json"}
    answer = browser.get("/auth/check", headers=headers, status=401)
    assert answer.headers["Content-Language"] == "fr"


@pytest.mark.parametrize("path", ["/anything", "/auth/me", "/auth/account"])
def test_a_failed_database_is_not_asked_again_for_the_language(site, ada, monkeypatch, path):
    browser = logged_in(site.around(login_required()(echo)), ada)
    asked = []

    def fail(*arguments, **options):
        asked.append(arguments)
        raise peewee.OperationalError("away")

    monkeypatch.setattr("wsgiauth.authentication.sessions.Sessions.find", fail)
    answer = browser.get(path, headers={"Accept-Language": "de"}, status=503)
    assert answer.headers["Content-Language"] == "de"
    assert len(asked) == 1


def test_the_application_can_ask_for_the_language(site, ada):
    asked = []

    def app(environ, start_response):
        asked.append(reader_language(environ))
        return echo(environ, start_response)

    client = TestApp(site.around(app))
    client.get("/", headers={"Accept-Language": "ar"})
    client.get("/", headers={"Accept-Language": "it"})
    update_user(ada, language="de")
    logged_in(client.app, ada).get("/", headers={"Accept-Language": "ar"})
    assert asked == ["ar", "fr", "de"]
