"""The pages and the cookie, in a real browser: the sample's site in Chromium."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from urllib.parse import urlencode

import pytest
from selenium.webdriver.common.keys import Keys
from webtest import TestApp

from tests.conftest import insert_users
from tests.docs.pages import PAGES, code
from tests.support.browser import (
    CLOCK,
    Visitor,
    running_first,
    set_scheme,
    set_screen,
    start_browser,
)
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.gallery import ALL_WRONG, THROTTLED, bare_sample, shown
from tests.support.keys import make_key
from tests.support.logins import make_stale
from tests.support.mails import MAIL
from tests.support.outages import database_away
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, Stage, serving
from wsgiauth import AuthMiddleware, Field, Session, User, login_required, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import verified_by_operator
from wsgiauth.accounts.passwords import password_problem
from wsgiauth.features.factors import recovery_codes
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in, mailbox

FORBIDDEN = "You do not have permission to open this page"
PLAIN_HOST = "library.test"  # over http, Chromium sends it no Sec-Fetch-Site
HOSTS = f"MAP {PLAIN_HOST} 127.0.0.1"
REFUSED = "The username and password do not match an active account."


def blank(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<!doctype html><link rel=icon href=data:><title>Elsewhere</title>"]


def drawing(environ, start_response):
    start_response("200 OK", [("Content-Type", "image/svg+xml")])
    return [b'<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"/>']


def styling(environ, start_response):
    is_style = environ["PATH_INFO"].endswith(".css")
    kind = "text/css" if is_style else "text/javascript"
    start_response("200 OK", [("Content-Type", kind)])
    return [b"h1 { letter-spacing: 7px }" if is_style else b"window.isRun = true"]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Return the sample's site, bare."""
    return bare_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def address(stage):
    with serving(stage) as address:
        yield address


@pytest.fixture(scope="module")
def neighbour():
    """Serve another origin on the same host."""
    with serving(blank) as address:
        yield address


@pytest.fixture(scope="module")
def stranger(neighbour):
    """Return an origin that is another site."""
    return neighbour.replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address, neighbour):
    """Start Chromium; it quits before the servers close, which wait for its connections."""
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile, f"--host-resolver-rules={HOSTS}") as started:
        yield started


@pytest.fixture
def options():
    """Return settings that a test wants otherwise; it parametrizes this."""
    return {}


@pytest.fixture
def settings(settings, options):
    return replace(settings, **options)


@pytest.fixture
def site(sample, settings):
    yield AuthMiddleware(sample, settings)
    storage.discard_connection(storage.current())


@pytest.fixture
def visitor(browser, stage, address, site):
    stage.app = site
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return Visitor(browser, address)


@pytest.fixture
def without_javascript(browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    yield
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_who_opens_a_guarded_page_returns_to_it_after_logging_in(visitor, ada):
    visitor.open("/members?page=2")
    assert visitor.heading == "Log in"
    visitor.find("[name=username]").send_keys(USERNAME)
    visitor.find("[name=password]").send_keys(PASSWORD)
    visitor.press("Log in")
    assert (visitor.path, visitor.heading) == ("/members?page=2", "Members")


@pytest.mark.parametrize("options", [{"FACTOR_KEY": FACTOR_KEY}], ids=[""])
def test_a_user_of_an_app_logs_in_with_its_code(visitor, ada, site):
    app = add_app(site, ada)
    visitor.open("/members")
    visitor.submit(USERNAME, PASSWORD)
    assert (visitor.page, visitor.heading) == ("/auth/second", "Enter a code")
    visitor.submit(app.code())
    assert (visitor.path, visitor.heading) == ("/members", "Members")


TRUSTING = {"FACTOR_KEY": FACTOR_KEY, "TRUSTED_BROWSER_DAYS": 30}


@pytest.mark.parametrize("options", [TRUSTING], ids=[""])
def test_a_trusted_browser_skips_the_second_step(visitor, ada, site):
    app = add_app(site, ada)
    visitor.log_in()
    visitor.find("[name=trust]").click()
    visitor.find("[name=code]").click()
    visitor.submit(app.code())
    visitor.open("/auth/logout")
    visitor.open("/members")
    visitor.submit(USERNAME, PASSWORD)
    assert (visitor.path, visitor.heading) == ("/members", "Members")
    visitor.open("/auth/sessions")
    visitor.press("End the trust")
    visitor.open("/auth/logout")
    visitor.log_in()
    assert visitor.page == "/auth/second"


def test_the_page_asked_for_survives_a_wrong_password(visitor, ada):
    visitor.open("/members")
    visitor.submit(USERNAME, "wrong")
    visitor.submit(PASSWORD)
    assert visitor.path == "/members"


def test_the_browser_keeps_the_longest_cookie_with_claims(
    visitor, stage, site, sample, settings, ada
):
    def claims_of(user):
        return {"a": "x" * length}

    # All but the number that a token in no cookie can have; see `test_claims`.
    length, most = 2000, 4096 - 44
    stage.app = AuthMiddleware(sample, settings, claims=claims_of)
    tokens = stage.app.site.tokens
    token = tokens.issue(ada.id, "x" * 22, int(tokens.now()), tokens.claims_for(ada))
    length += (most - len(token)) * 3 // 4  # Base64 makes four characters of three bytes
    visitor.open("/members")
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.heading == "Members"
    assert most - 2 <= len(visitor.browser.get_cookie("wsgiauth")["value"]) <= most


def test_a_wrong_password_is_told_beside_the_form(visitor, ada):
    visitor.log_in(password="wrong")
    message = visitor.find("main [role=alert]")
    assert (message.text, message.is_displayed()) == (REFUSED, True)
    assert visitor.find("[name=password]").get_attribute("aria-describedby") == "message"


def test_a_wrong_password_leaves_only_itself_to_be_typed_again(visitor, ada):
    visitor.log_in(password="wrong")
    assert visitor.value("username") == USERNAME
    assert visitor.value("password") == ""
    assert visitor.focus == "password"


def test_an_email_logs_in_too(visitor, ada):
    visitor.log_in(EMAIL)
    assert USERNAME in visitor.find("main").text


def test_who_registers_is_logged_in_and_returns_to_the_page_asked_for(visitor):
    visitor.open("/members")
    visitor.press("Create an account")
    visitor.submit(USERNAME, EMAIL, PASSWORD)
    assert (visitor.path, visitor.heading) == ("/members", "Members")


def test_what_is_wrong_with_a_registration_is_told_beside_each_field(visitor):
    visitor.register(**ALL_WRONG)
    assert "cannot contain spaces" in visitor.message_beside("username")
    assert "such as ada@example.org" in visitor.message_beside("email")
    assert "most common" in visitor.message_beside("password")


def test_a_name_that_is_taken_is_told_beside_its_field_alone(visitor, ada):
    visitor.register(username=USERNAME.upper(), email="grace@example.org")
    assert "taken" in visitor.message_beside("username")
    assert len(visitor.find_all("[aria-invalid=true]")) == 1


def test_a_refused_registration_keeps_all_but_the_password(visitor):
    visitor.register("Ada", "ada@", PASSWORD)
    assert visitor.value("username") == "Ada"
    assert visitor.value("email") == "ada@"
    assert visitor.value("password") == ""
    assert visitor.focus == "email"


def test_logging_out_ends_the_session(visitor, ada):
    visitor.log_in()
    cookie = visitor.browser.get_cookie("wsgiauth")
    visitor.press("Log out")
    assert "Log in to see what is new." in visitor.find("main").text
    visitor.browser.add_cookie(cookie)
    visitor.open("/members")
    assert visitor.heading == "Log in"


def test_a_user_finds_and_ends_their_own_login(visitor, ada):
    visitor.log_in()
    visitor.press(USERNAME)
    assert visitor.heading == "Your account"
    visitor.press("Where you are logged in")
    assert "This browser" in visitor.find("main").text
    visitor.press("Log out")
    assert (visitor.path, visitor.heading) == ("/auth/login?done=logout", "Log in")
    assert visitor.find("[role=status]").text == "You are logged out."
    assert visitor.browser.get_cookie("wsgiauth") is None


def test_who_is_logged_in_is_told_so_on_the_login_page(visitor, ada):
    visitor.log_in()
    visitor.open("/auth/login?next=/members")
    assert visitor.heading == "You are logged in"
    assert f"Your account is {USERNAME}." in visitor.find("main").text
    visitor.press("Continue")
    assert (visitor.path, visitor.heading) == ("/members", "Members")


def test_who_lacks_a_permission_switches_to_another_account(visitor, ada, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    grace.grant("reports.publish")
    visitor.log_in()
    visitor.open("/reports")
    assert visitor.heading == FORBIDDEN
    visitor.press("Use another account")
    visitor.submit("Grace", PASSWORD)
    assert (visitor.path, visitor.heading) == ("/reports", "Reports")


def test_who_logs_out_on_the_login_page_can_log_in_to_the_page_asked_for(visitor, ada):
    visitor.log_in()
    visitor.open("/auth/login?next=/members")
    visitor.press("Log out")
    assert visitor.heading == "Log in"
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/members"


def test_a_page_that_needs_a_permission_opens_with_its_grant(visitor, ada):
    visitor.log_in()
    visitor.open("/reports")
    assert (visitor.path, visitor.heading) == ("/reports", FORBIDDEN)
    ada.grant("reports.publish")
    visitor.open("/reports")
    assert visitor.heading == "Reports"


@pytest.mark.promise(16)
def test_the_cookie_is_hidden_from_scripts_and_other_sites(visitor, ada):
    visitor.log_in()
    cookie = visitor.browser.get_cookie("wsgiauth")
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Lax", False)
    assert (cookie["domain"], cookie["path"]) == ("127.0.0.1", "/")
    assert visitor.run("return document.cookie") == ""


@pytest.mark.promise(16)
@pytest.mark.parametrize("options", [pytest.param({"COOKIE_SECURE": "on"}, id="secure")])
def test_the_browser_takes_and_drops_the_secure_cookie(visitor, ada):
    visitor.log_in()
    (cookie,) = visitor.browser.get_cookies()
    assert (cookie["name"], cookie["secure"]) == ("__Host-wsgiauth", True)
    visitor.press("Log out")
    assert visitor.browser.get_cookies() == []


@pytest.mark.promise(16)
def test_a_second_cookie_of_our_name_makes_anonymous(visitor, ada):
    visitor.log_in()
    visitor.run("document.cookie = 'wsgiauth=planted; path=/members'")
    visitor.open("/members")
    assert visitor.path == "/auth/login?next=%2Fmembers"


(FETCH,) = code(PAGES["docs/endpoints.md"], "js")
LOG_IN_BY_FETCH = f"""
const [username, password, done] = arguments;
{FETCH.rstrip()}.then(
  async (answer) => done([answer.status, await answer.json(), document.cookie]));
"""


def test_a_script_of_the_site_logs_in_without_seeing_the_token(visitor, ada):
    visitor.open("/")
    log_in = partial(visitor.browser.execute_async_script, LOG_IN_BY_FETCH, USERNAME)
    status, refused, _ = log_in("wrong")
    assert (status, refused["code"]) == (401, "invalid_credentials")
    assert log_in(PASSWORD) == [200, {"detail": "Logged in.", "next": "/"}, ""]
    visitor.open("/members")
    assert visitor.heading == "Members"


LINK = "<a href='{}'>Go</a>"
FORM = "<form action='{}' method=post><button>Go</button></form>"


@pytest.mark.promise(17)
@pytest.mark.parametrize(
    ("origin", "bait"),
    [
        pytest.param("stranger", LINK, id="another site's link"),
        pytest.param("neighbour", LINK, id="another port's link"),
        pytest.param("neighbour", FORM, id="another port's form"),
    ],
)
def test_another_origin_logs_nobody_out(request, visitor, ada, origin, bait):
    visitor.log_in()
    logout = f"{visitor.address}/auth/logout"
    visitor.show(request.getfixturevalue(origin), bait.format(logout))
    visitor.press("Go")
    assert (visitor.path, visitor.heading) == ("/auth/logout", "This request was refused")
    visitor.open("/members")
    assert visitor.heading == "Members"


@pytest.mark.promise(17)
@pytest.mark.parametrize("origin", ["stranger", "neighbour"])
@pytest.mark.parametrize("path", ["/auth/login", "/auth/register"])
def test_another_origin_logs_nobody_in(request, visitor, origin, path):
    visitor.show(
        request.getfixturevalue(origin),
        f"<form action='{visitor.address}{path}' method=post>"
        f"<input name=username value='{USERNAME}'><input name=email value='{EMAIL}'>"
        f"<input name=password value='{PASSWORD}'><button>Go</button></form>",
    )
    visitor.press("Go")
    assert (visitor.path, visitor.heading) == (path, "This request was refused")
    assert visitor.browser.get_cookies() == []


@pytest.mark.promise(17)
@pytest.mark.parametrize(
    ("origin", "heading"),
    [
        pytest.param("address", "Members", id="own"),
        pytest.param("neighbour", "You are logged in", id="another port"),  # on the login page
    ],
)
def test_only_the_sites_own_form_posts_as_the_member(request, visitor, ada, origin, heading):
    visitor.log_in()
    members = f"{visitor.address}/members"
    visitor.show(request.getfixturevalue(origin), FORM.format(members))
    visitor.press("Go")
    assert visitor.heading == heading


@pytest.mark.promise(18)
@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param("//{}/", id="without scheme"),
        pytest.param("/\\{}/", id="backslash"),
        pytest.param("/\t/{}/", id="tab"),
    ],
)
def test_a_link_to_the_login_page_leads_to_no_other_site(visitor, ada, stranger, wanted):
    wanted = wanted.format(stranger.removeprefix("http://"))
    visitor.open(f"/auth/login?{urlencode({'next': wanted})}")
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/"


@pytest.mark.promise(18)
def test_a_form_that_was_tampered_with_leads_to_no_other_site(visitor, ada, stranger):
    visitor.open("/auth/login")
    visitor.run("document.forms[0].elements.next.value = arguments[0]", f"{stranger}/")
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/"


def page_of_an_app(environ, start_response):
    """Show the page of an application whose addresses are fragments."""
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<!doctype html><link rel=icon href=data:><title>Reports</title><h1>Reports</h1>"]


@pytest.fixture
def app_of_fragments(stage, settings):
    guarded = login_required(redirect_url="/auth/login")(page_of_an_app)
    stage.app = AuthMiddleware(guarded, replace(settings, FACTOR_KEY=FACTOR_KEY))
    yield stage.app
    storage.discard_connection(stage.app.database)


# Each test has a path of its own: another fragment of the same one loads no page.
FRAGMENT, REACHED = "#/report/7?y=a%20b&z=ü", "#/report/7?y=a%20b&z=%C3%BC"


@pytest.mark.promise(18)
@pytest.mark.parametrize(
    ("wanted", "reached"),
    [
        (f"/a?x=1{FRAGMENT}", f"/a?x=1{REACHED}"),
        ("/b#//evil.example", "/b#//evil.example"),
        ("/c#\\evil.example", "/c#\\evil.example"),
        ("/d#%0d%0aX", "/d#%0d%0aX"),
    ],
)
def test_a_login_keeps_the_fragment_of_the_page(visitor, ada, app_of_fragments, wanted, reached):
    visitor.open(wanted)
    visitor.submit(USERNAME, "wrong")  # the way back outlives a refusal
    visitor.submit(PASSWORD)
    assert (visitor.heading, visitor.path) == ("Reports", reached)


def test_a_second_step_keeps_the_fragment_of_the_page(visitor, ada, app_of_fragments):
    app = add_app(app_of_fragments, ada)
    visitor.open(f"/second{FRAGMENT}")
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.page == "/auth/second"
    visitor.submit(app.code())
    assert (visitor.heading, visitor.path) == ("Reports", f"/second{REACHED}")


def test_a_registration_keeps_the_fragment_of_the_page(visitor, ada, app_of_fragments):
    visitor.open(f"/register{FRAGMENT}")
    visitor.press("Create an account")
    visitor.submit("Grace", "grace@example.org", PASSWORD)
    assert (visitor.heading, visitor.path) == ("Reports", f"/register{REACHED}")


def test_a_fragment_that_names_a_part_of_the_login_page_is_not_kept(visitor, ada, app_of_fragments):
    visitor.open("/form#username")
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/form"


def guess(visitor):
    """Log in wrongly until one has to wait; the first waits may be over before a page is open."""
    message = ""
    while "Try again" not in message:
        visitor.log_in(password="wrong")
        message = visitor.find("[role=alert]").text


def register_too_often(visitor):
    visitor.register()
    visitor.browser.delete_all_cookies()  # whoever is logged in gets no form
    visitor.register("Grace", "grace@example.org")


IMPATIENT = {
    "LOGIN_FAILURES_PER_ACCOUNT": 1,
    "REGISTRATIONS_PER_ADDRESS": 1,
}
impatient = pytest.mark.parametrize("options", [IMPATIENT], ids=["impatient"])


@pytest.mark.promise(12)
@impatient
def test_who_guesses_too_often_is_told_to_wait_beside_the_form(visitor):
    guess(visitor)
    assert visitor.find("#message").text.startswith("There were too many attempts.")
    assert (visitor.value("username"), visitor.focus) == (USERNAME, "password")


@pytest.mark.promise(12)
@impatient
def test_who_registers_too_often_is_told_to_wait_beside_the_form(visitor):
    register_too_often(visitor)
    assert visitor.find("#message").text.endswith("Try again in 60 minutes.")
    assert visitor.value("username") == "Grace"


@pytest.mark.promise(20)
def test_a_script_that_got_into_a_page_would_not_run(visitor):
    visitor.open("/auth/login")
    visitor.run(
        "const script = document.createElement('script');"
        "script.textContent = 'document.title = `run`';"
        "document.body.append(script)"
    )
    assert visitor.browser.title == "Log in"


@pytest.mark.promise(20)
@pytest.mark.parametrize("is_named", [True, False], ids=["named", "not named"])
def test_a_page_shows_the_logo_and_images_of_named_origins_alone(
    visitor, stage, settings, is_named
):
    elsewhere = visitor.address.replace("127.0.0.1", "localhost")
    sources = (elsewhere,) if is_named else ()
    changes = {"SITE_LOGO": "/logo.svg", "SITE_NAME": "Ada & Sons", "PAGE_SOURCES": sources}
    stage.app = AuthMiddleware(drawing, replace(settings, **changes))
    visitor.open("/auth/login")
    assert visitor.run("return document.querySelector('.site img').naturalWidth") == 80
    load = """
        const [url, loaded] = arguments;
        const image = new Image();
        image.onload = () => loaded(true);
        image.onerror = () => loaded(false);
        image.src = url;
    """
    is_loaded = visitor.browser.execute_async_script(load, f"{elsewhere}/image.svg")
    assert is_loaded == is_named


@pytest.mark.parametrize(("scheme", "logo"), [("light", "/logo.svg"), ("dark", "/dark.svg")])
def test_a_dark_page_shows_the_logo_for_it(visitor, stage, settings, scheme, logo):
    changes = {"SITE_LOGO": "/logo.svg", "SITE_LOGO_DARK": "/dark.svg"}
    stage.app = AuthMiddleware(drawing, replace(settings, **changes))
    set_scheme(visitor.browser, scheme)
    visitor.open("/auth/login")
    shown = visitor.run(
        "const {currentSrc, naturalWidth} = document.querySelector('.site img');"
        "return [currentSrc, naturalWidth]"
    )
    set_scheme(visitor.browser, "light")
    assert shown == [visitor.address + logo, 80]


@pytest.mark.promise(20)
def test_a_page_loads_the_styles_of_its_site_and_no_script(visitor, stage, settings, tmp_path):
    (tmp_path / "brand.css").write_text("h1 { color: rgb(1, 2, 3) }")
    (tmp_path / "layout.html").write_text(
        '{% extends "wsgiauth/layout.html" %}{% block head %}'
        '<link rel="stylesheet" href="/own.css"><script src="/own.js"></script>{% endblock %}'
    )
    stage.app = AuthMiddleware(styling, replace(settings, TEMPLATES=str(tmp_path)))
    visitor.open("/auth/login")
    style = visitor.run(
        "const {color, letterSpacing} = getComputedStyle(document.querySelector('h1'));"
        "return [color, letterSpacing, window.isRun]"
    )
    assert style == ["rgb(1, 2, 3)", "7px", None]


@pytest.mark.promise(20)
def test_what_was_typed_stays_text(visitor):
    typed = '"><img src=x onerror="document.title=\'run\'">'
    visitor.log_in(username=typed)
    assert visitor.value("username") == typed
    assert visitor.find_all("img") == []


@pytest.mark.promise(20)
def test_no_page_can_be_framed(visitor, stranger):
    visitor.show(stranger, f"<iframe src='{visitor.address}/auth/login'></iframe>")
    visitor.wait_until(lambda browser: "frame-ancestors" in str(browser.get_log("browser")))


def test_everything_works_without_javascript(visitor, ada, without_javascript):
    visitor.open("/members")
    visitor.submit(USERNAME, "wrong")
    assert visitor.focus == "password"
    visitor.press("Create an account")
    visitor.submit("Grace", "grace@example.org", PASSWORD)
    assert visitor.path == "/members"
    visitor.press("Log out")
    assert "Log in to see what is new." in visitor.find("main").text


def test_the_tab_key_goes_from_field_to_field_to_button(visitor):
    visitor.open("/auth/login")
    order = [visitor.focus]
    for _ in range(5):
        visitor.browser.switch_to.active_element.send_keys(Keys.TAB)
        order.append(visitor.focus)
    assert order == ["username", "password", "Show", "remember", "Log in", "Create an account"]


def test_the_enter_key_works_on_the_button_too(visitor, ada):
    visitor.open("/members")
    visitor.submit(USERNAME, PASSWORD, "")
    assert visitor.path == "/members"


# The password, changed and asked for again.


def test_a_change_of_the_password_logs_other_browsers_out(visitor, ada, site):
    other = logged_in(site, ada)
    visitor.log_in()
    visitor.open("/.well-known/change-password")
    assert (visitor.path, visitor.heading) == ("/auth/password", "Change your password")
    visitor.submit(PASSWORD, "password")
    assert "most common" in visitor.message_beside("new_password")
    assert visitor.focus == "new_password"
    visitor.find("[name=current_password]").send_keys("wrong")
    visitor.find("[name=new_password]").send_keys("another unrelated phrase")
    visitor.press("Change password")
    assert visitor.find("[role=alert]").text == "This is not your current password."
    visitor.submit(PASSWORD, "another unrelated phrase")
    assert visitor.heading == "Your account"
    assert "has been changed" in visitor.find("[role=status]").text
    visitor.open("/members")
    assert visitor.heading == "Members"
    assert other.get("/members", headers=BROWSER, status=302).location.endswith(
        "/auth/login?next=%2Fmembers"
    )


def test_the_other_browser_sees_the_login_page_on_its_next_click(visitor, ada, site):
    visitor.log_in()
    elsewhere = logged_in(site, ada)
    change = {"current_password": PASSWORD, "new_password": "another unrelated phrase"}
    elsewhere.post("/auth/password", change, headers=SAME_ORIGIN, status=303)
    visitor.press("Members")
    assert visitor.heading == "Log in"
    assert "You have been logged out" in visitor.find("[role=status]").text
    visitor.submit(USERNAME, "another unrelated phrase")
    assert (visitor.path, visitor.heading) == ("/members", "Members")


def sensitive(environ, start_response):
    """Show a form, or what it sent."""
    start_response("200 OK", [("Content-Type", "text/html")])
    if environ["REQUEST_METHOD"] == "POST":
        return [b"<!doctype html><title>Sent</title><h1>Sent</h1>"]
    return [
        b"<!doctype html><link rel=icon href=data:><title>Payouts</title><h1>Payouts</h1>"
        b"<form method=post action=/send><button>Send</button></form>"
    ]


def test_a_sensitive_page_asks_for_the_password_and_returns(visitor, stage, ada, site, settings):
    guarded = login_required(redirect_url="/auth/login", fresh=True)(sensitive)
    stage.app = AuthMiddleware(guarded, settings)
    visitor.log_in()
    visitor.open("/payouts?page=2")
    assert visitor.heading == "Payouts"
    make_stale()
    visitor.press("Send")
    assert visitor.heading == "Confirm that it is you"
    assert "Nothing has been changed yet" in visitor.find("main").text
    visitor.submit("wrong")
    assert visitor.focus == "password"
    visitor.submit(PASSWORD)
    assert (visitor.path, visitor.heading) == ("/payouts?page=2", "Payouts")
    visitor.press("Send")
    assert visitor.heading == "Sent"
    make_stale()
    visitor.open("/payouts")
    visitor.submit(PASSWORD)
    assert (visitor.path, visitor.heading) == ("/payouts", "Payouts")
    storage.discard_connection(stage.app.database)


WITH_MAIL = {**MAIL, "MAIL_URL": "memory:"}


@pytest.fixture
def link(site, ada, settings):
    """Return the path of the link in a mail for Ada."""
    TestApp(site).post_json("/auth/forgot", {"username": USERNAME}, status=202)
    (link,) = mailbox(site).links
    return link.removeprefix(settings.PUBLIC_URL)


@pytest.mark.promise(82)
@pytest.mark.parametrize("options", [WITH_MAIL | {"LOGIN_CODES": True}], ids=["codes"])
def test_a_code_from_an_email_logs_in_by_itself(visitor, ada, site):
    update_user(ada, **verified_by_operator(ada))
    mailbox(site)  # a notice
    visitor.open("/members?page=2")
    visitor.find("[name=username]").send_keys(USERNAME)
    visitor.press("Email me a code")
    field = visitor.find("[name=code]")
    assert visitor.heading == "Enter the code"
    assert visitor.focus == "code"
    assert field.get_attribute("autocomplete") == "one-time-code"
    assert field.get_attribute("inputmode") == "numeric"
    visitor.submit("00000000")
    assert "This code is wrong" in visitor.find("[role=alert]").text
    visitor.submit(mailbox(site).codes[-1])
    assert (visitor.path, visitor.heading) == ("/members?page=2", "Members")


@pytest.mark.parametrize("options", [WITH_MAIL | {"LOGIN_CODES": True}], ids=["codes"])
def test_a_code_needs_no_script(visitor, ada, site, without_javascript):
    update_user(ada, **verified_by_operator(ada))
    visitor.open("/auth/login")
    visitor.press("Email me a code")
    assert visitor.message_beside("username") == "Enter your username or email address."
    visitor.submit(USERNAME)
    visitor.submit(mailbox(site).codes[-1])
    assert visitor.path == "/"


@pytest.mark.parametrize("options", [WITH_MAIL | {"LOGIN_CODES": True}], ids=["codes"])
def test_the_page_for_the_code_can_be_loaded_again(visitor, ada, site):
    update_user(ada, **verified_by_operator(ada))
    visitor.open("/auth/code")
    visitor.submit(USERNAME)
    visitor.browser.refresh()
    assert (visitor.path, visitor.heading) == ("/auth/code/enter", "Enter the code")
    visitor.submit(mailbox(site).codes[-1])
    assert visitor.path == "/"


BY_CODE = WITH_MAIL | {"LOGIN_CODES": True, "VERIFICATION": True}


@pytest.mark.parametrize("options", [BY_CODE], ids=["registration"])
def test_a_newcomer_pastes_the_whole_email(visitor, site):
    visitor.open("/auth/register?next=/members")
    visitor.submit("lin", "lin@example.org")
    assert (visitor.path, visitor.heading) == (
        "/auth/code/enter?next=%2Fmembers",
        "Enter the code",
    )
    assert visitor.focus == "code"
    visitor.find("[name=code]").send_keys("1234")
    button = visitor.find("[name=again]")
    assert re.fullmatch(r"Send another email \((30|2\d) secs\)", button.text)
    assert not button.is_enabled()
    with visitor.leaving():
        visitor.run("arguments[0].disabled = false; arguments[0].click()", button)
    assert "Try again in" in visitor.find("#message").text
    field = visitor.find("[name=code]")
    assert field.get_attribute("value") == "1234"
    text = plain_text_of(mailbox(site)[-1])
    with visitor.leaving():
        visitor.run("arguments[0].select()", field)
        visitor.run("document.execCommand('insertText', false, arguments[0])", text)
    assert (visitor.path, visitor.heading) == ("/members", "Members")


WITH_CODES = WITH_MAIL | {"LOGIN_CODES": True}


@pytest.mark.parametrize("options", [WITH_CODES], ids=["codes"])
def test_a_code_is_sent_with_its_last_digit_and_once(visitor, requests):
    visitor.open("/auth/code")
    visitor.submit("goldfinch")
    assert visitor.shown("#code-hint") == ["Eight digits, sent with the last one"]
    visitor.run("addEventListener('submit', (event) => event.preventDefault(), true)")
    visitor.run("sent = 0; addEventListener('submit', () => sent++, true)")
    field = visitor.find("[name=code]")
    for typed, sent in (("1234 567", 0), (Keys.BACKSPACE, 0), ("7", 0), ("8", 1), ("9", 1)):
        field.send_keys(typed)
        assert visitor.run("return sent") == sent, typed
    field.send_keys(Keys.BACKSPACE)  # complete again
    assert visitor.run("return sent") == 1
    assert [path for method, path, _ in requests if method == "POST"] == ["/auth/code"]


@pytest.mark.parametrize("options", [WITH_CODES], ids=["codes"])
def test_another_code_can_be_asked_for_after_30_seconds(visitor):
    visitor.open("/auth/code")
    visitor.submit("goldfinch")
    button = visitor.find("[name=again]")
    assert not button.is_enabled()
    visitor.run("const now = Date.now; Date.now = () => now() + 31000")
    visitor.wait_until(lambda _: button.is_enabled())
    assert button.text == "Email me another code"


@pytest.mark.parametrize("options", [WITH_CODES], ids=["codes"])
def test_the_way_used_last_is_marked(visitor, ada):
    marks = (
        "return [...document.querySelectorAll('button[data-last]')].map((each) => each.innerText)"
    )
    visitor.open("/auth/login")
    visitor.run("localStorage.clear()")
    visitor.find("[name=username]").send_keys(USERNAME)
    visitor.press("Email me a code")
    visitor.open("/auth/login")
    assert visitor.run(marks) == ["Email me a code"]
    mark = "return getComputedStyle(document.querySelector('button[data-last]'), '::after').content"
    assert visitor.run(mark) == '"Last used"'
    assert visitor.run("return Object.values(localStorage)") == ["code"]  # and no name
    visitor.submit(USERNAME, PASSWORD)
    visitor.open("/auth/login?switch=1")
    assert visitor.run(marks) == ["Log in"]


@pytest.mark.parametrize("options", [WITH_MAIL], ids=[""])
def test_a_single_way_is_not_marked(visitor, ada):
    visitor.log_in()
    visitor.open("/auth/login?switch=1")
    assert visitor.run("return localStorage.getItem('wsgiauth-way')") == "password"
    assert visitor.find_all("button[data-last]") == []


@pytest.mark.parametrize("options", [BY_CODE], ids=["registration"])
def test_a_registration_by_code_needs_no_script(visitor, site, without_javascript):
    visitor.open("/auth/register")
    visitor.submit("lin", "lin@example.org")
    visitor.press("Send another email")
    assert "Try again in" in visitor.find("#message").text
    visitor.submit(mailbox(site).codes[-1])
    assert visitor.path == "/"


@pytest.fixture
def requests(visitor, stage):
    """Return the method, path and Referer of each request that the browser sends."""
    app, sent = stage.app, []

    def note(environ, start_response):
        path, referer = environ["PATH_INFO"], environ.get("HTTP_REFERER", "")
        sent.append((environ["REQUEST_METHOD"], path, referer))
        return app(environ, start_response)

    stage.app = note
    return sent


@pytest.mark.promise(33)
@pytest.mark.parametrize("options", [WITH_MAIL], ids=["mail"])
def test_a_scanner_that_opens_a_link_in_a_browser_uses_nothing(visitor, link, requests, client):
    for _ in range(3):
        visitor.open(link)
        assert visitor.heading == "Choose a new password"
    assert requests == [("GET", "/auth/reset", "")] * 3  # the page sends no request itself
    client.head(link)
    visitor.open(link)
    visitor.submit("another unrelated phrase")
    assert (visitor.heading, visitor.value("username")) == ("Log in", USERNAME)
    visitor.submit("another unrelated phrase")
    assert USERNAME in visitor.find("main").text


@pytest.mark.parametrize("options", [WITH_MAIL], ids=["mail"])
def test_the_page_of_a_link_sends_its_address_nowhere(visitor, link, requests):
    visitor.open(link)
    visitor.submit("password")  # too common
    visitor.submit("another unrelated phrase")
    assert visitor.heading == "Log in"
    assert [method for method, *_ in requests] == ["GET", "POST", "POST", "GET"]
    assert not any("token" in referer for *_, referer in requests)


@pytest.mark.promise(17)
@pytest.mark.parametrize("options", [WITH_MAIL], ids=["mail"])
def test_a_browser_that_sends_no_fetch_metadata_can_use_a_link(
    browser, visitor, stage, address, link
):
    heard = []

    def note(environ, start_response):
        names = ("REQUEST_METHOD", "HTTP_SEC_FETCH_SITE", "HTTP_ORIGIN", "HTTP_REFERER")
        heard.append(tuple(environ.get(name) for name in names))
        return app(environ, start_response)

    app, stage.app = stage.app, note
    origin = address.replace("127.0.0.1", PLAIN_HOST)
    guest = Visitor(browser, origin)
    guest.open(link)
    guest.submit("another unrelated phrase")
    assert guest.heading == "Log in"
    assert heard[1] == ("POST", None, origin, f"{origin}/")


# What the script of every page adds.


def test_a_password_can_be_shown_and_is_hidden_before_it_is_sent(visitor, ada):
    visitor.open("/auth/login")
    field = visitor.find("[name=password]")
    visitor.find("[data-shows=password]").click()
    assert (field.get_attribute("type"), visitor.shown("[data-shows]")) == ("text", ["Hide"])
    visitor.find("[data-shows=password]").click()
    assert (field.get_attribute("type"), visitor.shown("[data-shows]")) == ("password", ["Show"])
    visitor.find("[data-shows=password]").click()
    visitor.run(
        "document.forms[0].addEventListener('submit', (event) => {"
        " event.preventDefault(); document.title = document.forms[0].elements.password.type; })"
    )
    visitor.find("[name=username]").send_keys(USERNAME)
    field.send_keys(PASSWORD, Keys.ENTER)
    visitor.wait_until(lambda browser: browser.title == "password")


def test_the_caret_is_after_what_was_typed_before(visitor, ada, settings):
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    visitor.log_in()
    visitor.open("/auth/username")
    visitor.submit("Grace")
    visitor.submit(" Hopper")
    assert visitor.value("username") == "Grace Hopper"


@pytest.fixture
def screen(visitor):
    """Return a function that sets the scheme of the system; nothing has been chosen."""
    visitor.open("/auth/login")
    visitor.run("localStorage.clear()")
    yield partial(set_scheme, visitor.browser)
    visitor.run("localStorage.clear()")
    visitor.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


LIGHT, DARK = ("light", "rgb(243, 245, 244)"), ("dark", "rgb(16, 21, 22)")
KNOWN_SCHEME = "return localStorage.getItem('wsgiauth-scheme')"


def look(visitor):
    """Return the scheme of the controls of a page, and the colour behind it."""
    page = visitor.run(
        "return [document.documentElement, document.body].map((each) => getComputedStyle(each))"
        ".map(({colorScheme, backgroundColor}) => [colorScheme, backgroundColor])"
    )
    (scheme, _), (_, colour) = page
    return scheme, colour


def test_a_reader_chooses_dark_pages_and_then_those_of_the_system_again(visitor, screen):
    screen("light")
    visitor.open("/auth/login")
    usual = (LIGHT[0] + " dark", LIGHT[1])
    assert (look(visitor), visitor.shown(".scheme button")) == (usual, ["Dark colours"])
    visitor.find(".scheme button").click()
    assert (look(visitor), visitor.shown(".scheme button")) == (DARK, ["Light colours"])
    visitor.open("/auth/register")
    assert (look(visitor), visitor.shown(".scheme button")) == (DARK, ["Light colours"])
    visitor.browser.refresh()
    assert (look(visitor), visitor.run(KNOWN_SCHEME)) == (DARK, "dark")
    visitor.find(".scheme button").click()
    assert (look(visitor), visitor.run(KNOWN_SCHEME)) == (usual, None)
    screen("dark")
    visitor.wait_until(lambda _: visitor.shown(".scheme button") == ["Light colours"])
    assert look(visitor)[1] == DARK[1]


def test_a_choice_stays_when_the_system_changes(visitor, screen):
    screen("dark")
    visitor.open("/auth/login")
    visitor.find(".scheme button").click()
    assert (look(visitor), visitor.shown(".scheme button")) == (LIGHT, ["Dark colours"])
    for scheme in ("light", "dark"):
        screen(scheme)
        assert (look(visitor), visitor.shown(".scheme button")) == (LIGHT, ["Dark colours"])


BRANDED = """
@media (prefers-color-scheme: light) { h1 { color: rgb(1, 2, 3) } }
@supports (color: red) { @media (prefers-color-scheme: dark) { h1 { color: rgb(4, 5, 6) } } }
@media (max-width: 1px) { h1 { color: red } }
"""


def test_the_logo_and_the_style_of_a_site_follow_the_choice(
    visitor, screen, stage, settings, tmp_path
):
    (tmp_path / "brand.css").write_text(BRANDED)
    logos = {"SITE_LOGO": "/logo.svg", "SITE_LOGO_DARK": "/dark.svg", "SITE_COLOR": "#003366"}
    stage.app = AuthMiddleware(drawing, replace(settings, TEMPLATES=str(tmp_path), **logos))
    shown = (
        "return [document.querySelector('.site img').currentSrc,"
        "...['h1', '[type=submit]'].map((each) => getComputedStyle(document.querySelector(each)))"
        ".map((each, index) => index ? each.backgroundColor : each.color)]"
    )
    light = [visitor.address + "/logo.svg", "rgb(1, 2, 3)", "rgb(0, 51, 102)"]
    dark = [visitor.address + "/dark.svg", "rgb(4, 5, 6)", "rgb(84, 143, 202)"]
    for scheme, looks in (("light", [light, dark, light]), ("dark", [dark, light, dark])):
        screen(scheme)
        visitor.open("/auth/login")
        assert visitor.run(shown) == looks[0]
        for each in looks[1:]:
            visitor.find(".scheme button").click()
            visitor.wait_until(lambda _, wanted=each: visitor.run(shown) == wanted)


WITHOUT_STORAGE = """
    const get = () => { throw new DOMException("off", "SecurityError"); };
    Object.defineProperty(window, "localStorage", { get });
"""


def test_a_reader_whose_storage_is_off_chooses_for_one_page(visitor, screen):
    screen("light")
    command = visitor.browser.execute_cdp_cmd
    added = command("Page.addScriptToEvaluateOnNewDocument", {"source": WITHOUT_STORAGE})
    try:
        visitor.open("/auth/login")
        visitor.find(".scheme button").click()
        assert look(visitor) == DARK
        visitor.find(".scheme button").click()
        assert look(visitor)[1] == LIGHT[1]
        visitor.find(".scheme button").click()
        visitor.open("/auth/register")
        assert look(visitor)[1] == LIGHT[1]
    finally:
        command("Page.removeScriptToEvaluateOnNewDocument", added)
        visitor.open("/auth/login")


def test_without_javascript_the_system_alone_chooses(visitor, screen, without_javascript):
    screen("dark")
    visitor.open("/auth/login")
    assert visitor.shown(".scheme button") == []
    assert visitor.find("body").value_of_css_property("background-color").endswith("16, 21, 22, 1)")


def test_a_page_that_a_reader_has_made_dark_is_printed_light(visitor, screen, stage, settings):
    logos = {"SITE_LOGO": "/logo.svg", "SITE_LOGO_DARK": "/dark.svg"}
    stage.app = AuthMiddleware(drawing, replace(settings, **logos))
    screen("light")
    visitor.open("/auth/login")
    visitor.find(".scheme button").click()
    assert look(visitor) == DARK
    visitor.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert look(visitor) == LIGHT
    logo = "return document.querySelector('.site img').currentSrc"
    visitor.wait_until(lambda _: visitor.run(logo) == visitor.address + "/logo.svg")


LONG_ENOUGH = "Long enough. Common passwords are refused, and a longer one is stronger."


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("", ""),
        ("7 chars", "Too short."),
        ("e\u0301e\u0300a\u0300u\u0308", "Too short."),
        ("Grace!2026", "Too similar to your username or email address."),
        ("hopper.g 1", "Too similar to your username or email address."),
        ("abababababab", "Too easy to guess: it repeats a character or a short pattern."),
        ("qwertyuiopasdf", "Too easy to guess: it follows the order of keys, letters or digits."),
        ("1qaz2wsx3edc", "Too easy to guess: it follows the order of keys, letters or digits."),
        ("gnome prawn", LONG_ENOUGH),
        (f"{PASSWORD[:10]}" * 2, LONG_ENOUGH),
        (PASSWORD, "Strong, unless it is a common password, or used elsewhere."),
    ],
)
def test_a_new_password_is_graded_while_it_is_typed_by_the_rules_of_the_server(
    visitor, settings, password, said
):
    visitor.open("/auth/register")
    values = {"username": "Grace", "email": "hopper.g@example.org", "password": password}
    for name, value in values.items():
        visitor.find(f"[name={name}]").send_keys(value)
    hint = visitor.find("[data-strength-of=password]")
    assert hint.text == said
    steps = {"": "", "Too short.": "1", LONG_ENOUGH: "3"}
    level = "4" if said.startswith("Strong") else steps.get(said, "2")
    assert (hint.get_attribute("data-level") or "") == level
    problem = password_problem(password, settings, username="Grace", email=values["email"])
    assert bool(problem) is (not said.startswith(("Long enough", "Strong")))


def test_times_are_in_the_zone_of_the_reader(visitor, ada):
    visitor.log_in()
    visitor.open("/auth/sessions")
    assert visitor.find("time").text == "now"
    at = datetime(2026, 7, 3, 22, 30, tzinfo=UTC)
    Session.update(created_at=at).execute()
    visitor.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    visitor.open("/auth/sessions")
    time = visitor.find(f"time[datetime='{at:%Y-%m-%dT%H:%M:%SZ}']")
    visitor.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    assert time.get_attribute("textContent") == "4 July 2026 at 07:30 GMT+9"
    assert time.get_attribute("title") == time.get_attribute("textContent")


def test_a_time_is_written_as_without_the_script(visitor, ada):
    visitor.log_in()
    at = datetime(2026, 7, 3, 22, 30, tzinfo=UTC)
    Session.update(created_at=at).execute()
    visitor.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "UTC"})
    texts = []
    for is_disabled in (False, True):
        disabled = {"value": is_disabled}
        visitor.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", disabled)
        visitor.open("/auth/sessions")
        time = visitor.find(f"time[datetime='{at:%Y-%m-%dT%H:%M:%SZ}']")
        texts.append(time.get_attribute("textContent"))
    visitor.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    visitor.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    assert texts == ["3 July 2026 at 22:30 UTC"] * 2


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (timedelta(minutes=5), "5 minutes ago"),
        (timedelta(hours=3), "3 hours ago"),
        (timedelta(days=1, minutes=5), "yesterday"),
        (timedelta(days=20), "20 days ago"),
    ],
    ids=lambda value: str(value),
)
def test_a_recent_time_is_a_distance(visitor, ada, passed, text):
    visitor.log_in()
    Session.update(created_at=utc_now() - passed).execute()
    visitor.open("/auth/sessions")
    assert visitor.find(".more time").get_attribute("textContent") == text


def test_a_second_click_sends_nothing(visitor, stage, ada):
    app, logins, is_second = stage.app, [], Event()

    def slow(environ, start_response):
        if environ["REQUEST_METHOD"] == "POST":
            logins.append(environ["PATH_INFO"])
            if len(logins) > 1:
                is_second.set()
            is_second.wait(2)
        return app(environ, start_response)

    stage.app = slow
    visitor.open("/auth/login")
    visitor.find("[name=username]").send_keys(USERNAME)
    visitor.find("[name=password]").send_keys(PASSWORD)
    with visitor.leaving():
        visitor.run(
            "const button = document.querySelector('[type=submit]');"
            "button.click(); setTimeout(() => button.click(), 200)"
        )
    assert (visitor.path, logins) == ("/", ["/auth/login"])


def test_back_shows_no_key_that_was_revoked(visitor, ada):
    make_key(ada, "Backup")
    visitor.log_in()
    visitor.open("/auth/keys")
    visitor.find("summary").click()
    with visitor.leaving():
        visitor.find("button.danger").click()
    with visitor.leaving():
        visitor.browser.back()
    assert visitor.path == "/auth/keys"
    assert visitor.shown(".entries h2") == []


# As WebKit, in which a reload of an answer sends its form again, whatever the history says.
IGNORED_HISTORY = "history.replaceState = () => {};"


@pytest.fixture
def like_webkit(visitor):
    with running_first(visitor.browser, IGNORED_HISTORY):
        yield


@pytest.mark.usefixtures("ada", "like_webkit")
def test_a_refused_login_counts_once_in_browsers_whose_reload_sends_it_again(visitor, requests):
    visitor.open("/auth/login?next=/reports")
    visitor.submit(USERNAME, "wrong")
    requests.clear()
    visitor.browser.refresh()
    assert [(method, path) for method, path, _ in requests] == [
        ("POST", "/auth/login"),
        ("GET", "/auth/login"),
    ]
    assert visitor.shown("#message") == []
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/reports"


@pytest.mark.usefixtures("like_webkit")
def test_users_are_changed_once_in_browsers_whose_reload_sends_the_form_again(staff, requests):
    for box in boxes(staff, 0, 1):
        box.click()
    staff.press("Deactivate…")
    staff.press("Deactivate 2 users")
    assert staff.shown("[role=status]") == ["Users changed: 2 of 2"]
    staff.browser.refresh()
    assert staff.path == "/auth/admin/users"
    posts = [path for method, path, _ in requests if method == "POST"]
    assert posts == ["/auth/admin/users/several"] * 2
    assert staff.shown("[role=status]") == []


def test_a_form_can_be_sent_again_after_going_back(visitor, ada):
    visitor.log_in(password="wrong")
    visitor.browser.back()
    visitor.find("[name=username]").clear()
    visitor.find("[name=username]").send_keys(USERNAME)
    visitor.find("[name=password]").send_keys(PASSWORD)
    visitor.press("Log in")
    assert visitor.path == "/"


@pytest.mark.usefixtures("ada")
def test_a_reload_and_the_way_back_send_no_refused_form_again(visitor, requests):
    visitor.open("/auth/login?next=/reports")
    visitor.submit(USERNAME, "wrong")
    assert visitor.find("#message").text == REFUSED
    requests.clear()
    visitor.browser.refresh()
    visitor.press("Create an account")
    visitor.browser.back()
    assert visitor.heading == "Log in"
    assert not visitor.browser.title.startswith("Error:")
    assert not [path for method, path, _ in requests if method == "POST"]
    visitor.find("[name=username]").click()
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/reports"


# What a browser says of a field that it does not send.

EACH_KIND = (
    Field("site", "Site", kind="url"),
    Field("age", "Age", kind="number"),
    Field("room", "Room", kind="select", options=["North"], required=True),
    Field("rules", "Rules", kind="checkbox", required=True),
)


@pytest.fixture
def german_register(visitor, stage, sample, settings):
    changed = replace(settings, LANGUAGES=("de",))
    stage.app = AuthMiddleware(sample, changed, registration=EACH_KIND)
    visitor.open("/auth/register")
    return visitor


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("#username", "", "Dieses Feld ist erforderlich."),
        ("#password", "", "Dieses Feld ist erforderlich."),
        ("#password", "short", "Ein Passwort muss mindestens 8 Zeichen lang sein."),
        ("#site", "example", "Geben Sie eine Webadresse wie https://example.org ein."),
        ("#room", "", "Wählen Sie eine der Optionen aus."),
        ("#rules", None, "Setzen Sie hier ein Häkchen, um fortzufahren."),
    ],
)
def test_a_field_that_is_not_sent_says_why_in_the_language_of_the_page(
    german_register, field, value, message
):
    found = german_register.find(field)
    folds = german_register.find_all(f"details:has({field}) > summary")
    for each in folds:
        each.click()
    if value:
        found.send_keys(value)
    for each in folds:
        each.click()
    german_register.run("arguments[0].reportValidity()", found)
    assert found.get_property("validationMessage") == message
    assert found.is_displayed()


def test_a_corrected_field_is_sent(german_register):
    field = german_register.find("#username")
    german_register.run("arguments[0].reportValidity()", field)
    field.send_keys("Ada")
    assert field.get_property("validationMessage") == ""


# What is shown only once.

WITH_FACTORS = pytest.mark.parametrize("options", [{"FACTOR_KEY": FACTOR_KEY}], ids=[""])


@WITH_FACTORS
def test_what_is_typed_replaces_the_proposed_name_of_an_app(visitor, site, ada):
    visitor.log_in()
    visitor.open("/auth/totp")
    assert (visitor.focus, visitor.find("#name").get_attribute("value")) == ("name", "Phone")
    visitor.browser.switch_to.active_element.send_keys("Tablet")
    assert visitor.find("#name").get_attribute("value") == "Tablet"


@pytest.fixture
def codes(visitor, site, ada):
    """Let a browser make recovery codes; return them as shown."""
    add_app(site, ada)
    for name, value in browser_cookie(site, ada):
        visitor.open("/auth/login")
        visitor.browser.add_cookie({"name": name, "value": value})
    visitor.open("/auth/recovery-codes")
    visitor.press("Create recovery codes")
    return visitor.shown("code")


def browser_cookie(site, user):
    return [(each.name, each.value) for each in logged_in(site, user).cookiejar]


@WITH_FACTORS
def test_a_reload_and_the_way_back_make_no_new_codes(visitor, ada, codes, requests):
    visitor.browser.refresh()
    assert visitor.find("main strong").text == "10"
    visitor.press("Your account")
    visitor.browser.back()
    assert (visitor.path, visitor.heading) == ("/auth/recovery-codes", "Recovery codes")
    assert not [path for method, path, _ in requests if method == "POST"]
    assert recovery_codes.use(ada, codes[0])


@WITH_FACTORS
def test_the_key_of_an_app_is_copied(visitor, ada):
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    grant = {"origin": visitor.address, "permissions": permissions}
    visitor.browser.execute_cdp_cmd("Browser.grantPermissions", grant)
    visitor.log_in()
    visitor.open("/auth/totp")
    visitor.press("Add an app")
    visitor.find("[data-action=copy]").click()
    visitor.wait_until(lambda _: visitor.find("[data-action=copy]").text == "Copied")
    assert visitor.run("return navigator.clipboard.readText()") == visitor.find(".key").text


@WITH_FACTORS
def test_codes_are_copied_and_downloaded_with_the_site_and_the_day(visitor, codes, tmp_path):
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    grant = {"origin": visitor.address, "permissions": permissions}
    visitor.browser.execute_cdp_cmd("Browser.grantPermissions", grant)
    folder = {"behavior": "allow", "downloadPath": str(tmp_path)}
    visitor.browser.execute_cdp_cmd("Browser.setDownloadBehavior", folder)
    visitor.find("[data-action=copy]").click()
    visitor.wait_until(lambda _: visitor.find("[data-action=copy]").text == "Copied")
    copied = visitor.run("return navigator.clipboard.readText()")
    visitor.find("[data-action=download]").click()
    visitor.wait_until(lambda _: (tmp_path / "recovery-codes.txt").exists())
    assert (tmp_path / "recovery-codes.txt").read_text() == copied
    about, created, *rest = filter(None, copied.splitlines())
    assert about == f"Recovery codes for Ada at {visitor.address.removeprefix('http://')}"
    assert created.startswith("Created on ")
    assert rest == codes


@WITH_FACTORS
def test_only_the_codes_are_printed(visitor, codes):
    visitor.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    printed = visitor.find("body").text
    visitor.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert printed.startswith("Recovery codes for Ada at ")
    assert printed.splitlines()[-1] == codes[-1]


def test_a_reload_makes_no_second_key(visitor, ada, requests):
    visitor.log_in()
    visitor.open("/auth/keys")
    visitor.find("[name=name]").send_keys("export")
    visitor.press("Create the key")
    assert visitor.find("#made").text.startswith("wsgiauth_")
    visitor.browser.refresh()
    assert visitor.shown("#made") == []
    assert [path for method, path, _ in requests if method == "POST"] == [
        "/auth/login",
        "/auth/keys",
    ]


# Several users of the staff panel.


@pytest.fixture
def staff(visitor, site, ada):
    """Log a superuser in, and open the list of users."""
    update_user(ada, is_staff=True, is_superuser=True)
    insert_users(30)
    visitor.log_in()
    set_screen(visitor.browser, 1440)
    visitor.open("/auth/admin/users")
    yield visitor
    visitor.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def boxes(visitor, *numbers):
    every = visitor.find_all("[name=users]")
    return [every[number] for number in numbers] if numbers else every


def test_the_picture_of_a_person_is_beside_their_name(staff):
    place = "const {top, bottom, right, left} = arguments[0].getBoundingClientRect();"
    for path, around, name in (
        ("/auth/account", ".profile", ".profile .name"),
        (f"/auth/admin/users/{User.get().id}", "main", "h1 bdi"),
    ):
        staff.open(path)
        outer, picture, text = (
            staff.run(f"{place} return [top, bottom, right, left]", staff.find(each))
            for each in (around, f"{around} > .monogram, p.identity > .monogram", name)
        )
        assert outer[0] < picture[0] <= text[1] <= picture[1] < outer[1], path
        assert outer[3] < picture[3] < picture[2] < text[3], path


@pytest.mark.parametrize("width", [390, 1440])
def test_a_column_sorts_the_list_and_a_changed_user_leads_back_to_it(staff, width):
    set_screen(staff.browser, width)
    staff.press("Email address")
    staff.press("Email address")
    assert staff.shown("caption") == ["31 users, by email address, in reverse"]
    assert staff.shown("[aria-sort=descending] a") == ["Email address"]
    staff.press("User9")
    staff.press("Deactivate…")
    staff.press("Deactivate")
    staff.press("Back to the search")
    assert staff.path == "/auth/admin/users?sort=-email"


def test_what_sorts_the_list_is_large_enough_for_a_finger_on_a_phone(staff):
    set_screen(staff.browser, 390)
    links = staff.find_all("thead a")
    assert [each.text for each in links] == ["Username", "Email address", "Created", "Last login"]
    assert all(each.size["height"] >= 44 for each in links)


def test_the_bar_of_actions_is_shown_for_chosen_users_alone(staff):
    assert staff.shown(".several") == []
    (box,) = boxes(staff, 2)
    box.click()
    assert staff.shown(".several button") == [
        "Activate…",
        "Deactivate…",
        "Revoke all sessions…",
        "Add to a group…",
    ]
    box.click()
    assert staff.shown(".several") == []


def test_a_key_leads_from_a_chosen_user_to_the_actions(staff):
    boxes(staff, 2)[0].send_keys(Keys.SPACE, Keys.TAB)
    assert staff.shown(".skip:focus") == ["Skip to the actions"]
    staff.browser.switch_to.active_element.send_keys(Keys.ENTER)
    staff.browser.switch_to.active_element.send_keys(Keys.TAB, Keys.TAB)
    assert staff.browser.switch_to.active_element.text == "Activate…"


def test_all_users_of_a_page_are_chosen_at_once(staff):
    def chosen():
        return sum(each.is_selected() for each in boxes(staff))

    boxes(staff, 1)[0].click()
    every = staff.find("[data-chooses]")
    assert every.get_property("indeterminate")
    every.click()
    assert (chosen(), every.get_property("indeterminate")) == (31, False)
    boxes(staff, 0)[0].click()
    assert (chosen(), every.is_selected()) == (30, False)
    every.click()
    every.click()
    assert chosen() == 0
    boxes(staff, 0, 1)[1].click()
    staff.press("Deactivate…")
    staff.browser.back()
    assert chosen() == 1
    assert staff.find("[data-chooses]").get_property("indeterminate")


def test_chosen_users_are_changed_once_although_the_page_is_reloaded(staff, requests):
    for box in boxes(staff, 0, 1):
        box.click()
    staff.press("Deactivate…")
    assert staff.shown(".names a") == ["User29", "User28"]
    staff.press("Deactivate 2 users")
    assert staff.shown("[role=status]") == ["Users changed: 2 of 2"]
    staff.browser.refresh()
    assert staff.path == "/auth/admin/users"
    posts = [path for method, path, _ in requests if method == "POST"]
    assert posts == ["/auth/admin/users/several"]


def test_several_users_are_changed_without_javascript(staff, without_javascript):
    staff.browser.refresh()
    boxes(staff, 3)[0].click()
    assert staff.shown(".several .choice") == []
    staff.press("Deactivate…")
    staff.press("Deactivate 1 user")
    assert staff.shown("[role=status]") == ["Users changed: 1 of 1"]


@pytest.mark.parametrize("width", [320, 390, 1440])
def test_a_checkbox_is_large_enough_for_a_finger(staff, width):
    set_screen(staff.browser, width)
    for label in staff.find_all(".tick label"):
        assert label.size["width"] >= 24
        assert label.size["height"] >= 44


def test_the_bar_scrolls_with_the_page_of_a_low_screen(staff):
    set_screen(staff.browser, 320, 256)
    boxes(staff, 0)[0].click()
    assert staff.run("return getComputedStyle(arguments[0]).position", staff.find(".several")) == (
        "static"
    )


@pytest.mark.parametrize("width", [320, 390, 1440])
def test_the_bar_hides_no_row_that_has_the_focus(staff, width):
    set_screen(staff.browser, width, 700)
    boxes(staff, 0)[0].click()
    for _ in range(24):
        staff.browser.switch_to.active_element.send_keys(Keys.TAB)
        bottom, top = staff.run(
            "return [document.activeElement, document.querySelector('.several')]"
            ".map((each, n) => each.getBoundingClientRect()[n ? 'top' : 'bottom'])"
        )
        assert bottom <= top, staff.focus


# Waits, and a database that is away for a moment.


@pytest.fixture
def pass_seconds(visitor):
    """Return a function that moves the clock of the pages."""
    with running_first(visitor.browser, CLOCK):
        yield partial(visitor.run, "pass(arguments[0])")


@pytest.mark.promise(12)
@impatient
def test_the_end_of_a_wait_is_announced_once(visitor, pass_seconds):
    guess(visitor)
    message = visitor.find("#message")
    wait = int(visitor.find("[data-wait]").get_attribute("data-wait"))  # longer if a page was slow
    assert re.search(r"Try again in (a second|\d+ seconds)\.$", message.text)
    assert message.get_attribute("role") == "alert"
    assert visitor.find("#message [role=status]").text == ""
    pass_seconds(wait)
    assert message.get_attribute("role") is None
    assert visitor.find("#message [role=status]").text == "You can try again now."
    assert "Try again in" not in message.text
    assert visitor.run("return count()") == 0


def test_a_wait_is_counted_down(visitor, stage, pass_seconds):
    stage.app = shown(THROTTLED)
    visitor.open("/auth/login")
    message = visitor.find("main p:has([data-wait])")
    for seconds, left in (
        (0, "Try again in 5 minutes."),
        (170, "Try again in 3 minutes."),
        (20, "Try again in 110 seconds."),
        (109, "Try again in 1 second."),
        (1, "You can try again now."),
    ):
        if seconds:
            pass_seconds(seconds)
        assert message.text.endswith(left)


@pytest.fixture
def outage(monkeypatch):
    """Return a context in which the database is away."""

    return partial(database_away, monkeypatch)


AWAY = "Accounts are not available at the moment"


@pytest.mark.promise(28)
def test_a_form_that_could_not_be_processed_is_sent_again(visitor, ada, outage):
    visitor.log_in()
    visitor.open("/auth/username")
    with outage():
        visitor.find("[name=username]").clear()
        visitor.submit("Countess")
        assert visitor.heading == AWAY
        visitor.press("Try again")
        assert visitor.heading == AWAY
    visitor.press("Try again")
    assert visitor.page == "/auth/account"
    assert User.get(User.id == ada.id).username == "Countess"


@pytest.mark.promise(28)
def test_a_form_with_a_password_is_gone_back_to_with_what_was_typed(visitor, ada, database):
    visitor.open("/auth/login?next=/reports")
    database.execute_sql("ALTER TABLE wsgiauth_user RENAME TO away")
    visitor.submit(USERNAME, PASSWORD)
    database.execute_sql("ALTER TABLE away RENAME TO wsgiauth_user")
    assert visitor.heading == AWAY
    visitor.press("Back to the form")
    assert (visitor.path, visitor.value("username")) == ("/auth/login?next=/reports", USERNAME)
    visitor.find("[name=password]").clear()  # some browsers keep the whole page
    visitor.find("[name=password]").send_keys(PASSWORD)
    visitor.press("Log in")
    assert visitor.page == "/reports"
