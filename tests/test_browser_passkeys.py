"""Passkeys in a real browser: Chromium with its virtual authenticator."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import (
    BY_BUTTON,
    Visitor,
    running_first,
    start_browser,
    with_authenticator,
)
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.gallery import bare_sample
from tests.support.logins import make_stale
from tests.support.sites import PASSWORD, USERNAME, Stage, serving
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.tables import Session
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.testing import mailbox


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return bare_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def address(stage):
    """Serve the stage; browsers have passkeys at localhost, and at no IP address."""
    with serving(stage) as address:
        yield address.replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address):
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile) as started:
        yield started


@pytest.fixture
def options():
    """Return further settings of the site."""
    return {}


@pytest.fixture
def settings(settings, address, options):
    passkeys = {"PUBLIC_URL": address, "PASSKEYS": True}
    return replace(settings, **passkeys, FACTOR_KEY=FACTOR_KEY, **options)


@pytest.fixture
def site(sample, settings, stage):
    stage.app = AuthMiddleware(sample, settings)
    yield stage.app
    storage.discard_connection(stage.app.database)


@pytest.fixture
def visitor(browser, address, site):
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return Visitor(browser, address)


@pytest.fixture
def eager_device(browser):
    """Return the browser with an authenticator, which also answers among the names."""
    with with_authenticator(browser):
        yield browser


@pytest.fixture
def device(eager_device):
    """Return the browser with an authenticator that a person uses by a button only."""
    with running_first(eager_device, BY_BUTTON):
        yield eager_device


def add_passkey(visitor):
    """Log in, and add a passkey as a person does."""
    visitor.log_in()
    visitor.open("/auth/account")
    visitor.press("Passkeys")
    visitor.press("Add a passkey")


def click(visitor, text):
    """Press a button that leads nowhere, as far as one knows."""
    visitor.browser.find_element(By.XPATH, f"//button[.='{text}']").click()


def log_out(visitor):
    visitor.browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    Session.delete().execute()


def methods():
    """Return how the one login was proven."""
    (session,) = Session.select()
    return session.methods


def open_account(visitor):
    """Open the account page, and return what it offers once its script has run."""
    visitor.open("/auth/account")
    # Browsers answer in order: the script of the page asked before.
    visitor.run("return PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable()")
    return visitor.shown("[data-device] a")


def test_after_a_password_a_device_that_verifies_its_user_is_offered_once(visitor, ada, device):
    visitor.log_in()
    visitor.run("localStorage.clear()")
    assert open_account(visitor) == ["Next time, use this device"]
    assert open_account(visitor) == []
    visitor.run("localStorage.clear()")
    open_account(visitor)
    visitor.press("Next time, use this device")
    assert visitor.path == "/auth/passkeys"


def test_a_device_that_cannot_verify_its_user_is_not_offered(visitor, ada):
    visitor.log_in()
    visitor.run("localStorage.clear()")
    assert open_account(visitor) == []
    assert visitor.run("return localStorage.length") == 0


def test_a_browser_that_stores_nothing_is_offered_nothing(visitor, ada, device):
    visitor.log_in()
    source = "Storage.prototype.getItem = () => { throw new DOMException('', 'SecurityError'); }"
    with running_first(device, source):
        assert open_account(visitor) == []


def test_a_person_adds_a_passkey_and_removes_it(visitor, ada, device):
    add_passkey(visitor)
    assert visitor.path == "/auth/recovery-codes?done=passkey"
    assert "The passkey “Chrome on Linux” has been added." in visitor.find("[role=status]").text
    visitor.open("/auth/passkeys")
    assert visitor.find("h2").text == "Chrome on Linux"
    visitor.find("summary").click()
    assert "no longer ask for a second step" in visitor.find("details").text
    visitor.press("Remove the passkey")
    assert "Logins no longer ask for a second step." in visitor.find("[role=status]").text
    assert not Passkey.select().exists()


def test_a_device_keeps_one_passkey_of_a_user(visitor, ada, device):
    add_passkey(visitor)
    visitor.open("/auth/passkeys")
    click(visitor, "Add a passkey")
    visitor.wait_until(lambda _: visitor.shown("[data-error]"))
    assert visitor.shown("[data-error]") == ["This device already has a passkey for your account."]


def test_the_login_page_logs_in_by_a_passkey_alone(visitor, ada, device):
    add_passkey(visitor)
    log_out(visitor)
    visitor.open("/members")
    visitor.find("[name=remember]").click()
    visitor.press("Log in with a passkey")
    assert (visitor.path, visitor.heading) == ("/members", "Members")
    assert methods() == "hwk user"
    assert visitor.browser.get_cookie("wsgiauth")["expiry"]


def test_the_login_page_offers_passkeys_among_the_names(visitor, ada, eager_device):
    add_passkey(visitor)
    log_out(visitor)
    visitor.open("/members")
    visitor.wait_until(lambda _: visitor.path == "/members")
    assert methods() == "hwk user"


def test_a_new_passkey_is_named_after_it_was_added(visitor, ada, device):
    visitor.log_in()
    visitor.open("/auth/passkeys")
    visitor.press("Add a passkey")
    visitor.open("/auth/passkeys")
    assert visitor.shown("[id$=-name]") == []
    visitor.find(".more summary").click()
    field = visitor.find("[id$=-name]")
    assert field.get_attribute("value") == "Chrome on Linux"
    field.clear()
    with visitor.leaving():
        field.send_keys("at home", Keys.ENTER)
    assert visitor.find("[role=status]").text == "The passkey is now called “at home”."
    assert visitor.find("h2").text == "at home"


def test_who_gives_up_the_passkey_can_log_in_by_the_password_at_once(visitor, ada, device):
    refusing = "navigator.credentials.get = async () => { throw new Error('given up'); }"
    with running_first(visitor.browser, refusing):
        visitor.open("/auth/login")
    click(visitor, "Log in with a passkey")
    visitor.wait_until(lambda _: visitor.shown("[data-error]"))
    visitor.find("[name=username]").send_keys(USERNAME)
    visitor.find("[name=password]").send_keys(PASSWORD)
    visitor.press("Log in")
    assert visitor.path == "/"


@pytest.mark.promise(56)
def test_a_user_whom_the_device_does_not_verify_has_a_second_factor_only(visitor, ada, device):
    add_passkey(visitor)
    log_out(visitor)
    device.set_user_verified(False)
    visitor.open("/auth/login")
    click(visitor, "Log in with a passkey")
    visitor.wait_until(lambda _: visitor.shown("[data-error]"))
    assert visitor.shown("[data-error]") == ["No passkey was used. Try again."]
    visitor.log_in()
    assert (visitor.page, visitor.heading) == ("/auth/second", "Two-step verification")
    assert visitor.focus == "Use a passkey"
    visitor.press("Use a passkey")
    assert methods() == "pwd hwk"


@pytest.mark.parametrize("options", [{"TRUSTED_BROWSER_DAYS": 30}], ids=[""])
@pytest.mark.parametrize("way", ["passkey", "code"])
def test_the_checkbox_of_the_second_step_counts_for_both_ways(visitor, ada, device, way):
    add_passkey(visitor)
    code, *_ = recovery_codes.replace(ada, rounds=4)
    log_out(visitor)
    visitor.log_in()
    if way == "passkey":
        visitor.find("[name=trust]").click()
        visitor.press("Use a passkey")
    else:
        visitor.find("summary").click()
        visitor.find("#recovery-code [name=trust]").click()
        visitor.find("[name=code]").click()
        visitor.submit(code)
    visitor.open("/auth/logout")
    visitor.log_in()
    assert visitor.path == "/"


def test_after_a_wrong_code_people_correct_it_at_once(visitor, ada, device):
    add_passkey(visitor)
    code, *_ = recovery_codes.replace(ada, rounds=4)
    log_out(visitor)
    visitor.log_in()
    visitor.find("summary").click()
    visitor.find("[name=code]").click()
    visitor.submit("wrong")
    assert visitor.focus == "code"
    visitor.submit(code)
    assert methods() == "pwd otp recovery"


def test_a_passkey_makes_a_login_fresh(visitor, ada, device):
    add_passkey(visitor)
    make_stale()
    visitor.open("/auth/passkeys")
    assert visitor.heading == "Confirm that it is you"
    visitor.press("Use a passkey")
    assert (visitor.path, visitor.heading) == ("/auth/passkeys", "Passkeys")
    assert methods() == "hwk user"


def test_a_passkey_of_a_closed_account_is_refused_on_the_page(visitor, ada, device):
    add_passkey(visitor)
    ada.delete_instance()
    log_out(visitor)
    visitor.open("/auth/login")
    visitor.press("Log in with a passkey")
    assert visitor.find("main [role=alert]").text == "The passkey was not accepted. Try again."
    assert visitor.path == "/auth/login"


@pytest.mark.promise(58)
def test_without_script_all_but_the_passkeys_works(visitor, ada, device):
    add_passkey(visitor)
    log_out(visitor)
    (code, *_) = recovery_codes.replace(ada, rounds=4)
    device.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visitor.log_in()
        assert visitor.shown("button") == ["Start again"]
        assert "Passkeys need JavaScript" in visitor.find("main").text
        visitor.find("summary").click()
        visitor.find("[name=code]").send_keys(code)
        visitor.press("Log in with the code")
        assert methods() == "pwd otp recovery"
        visitor.open("/auth/passkeys")
        visitor.find("summary").click()
        visitor.press("Remove the passkey")
    finally:
        device.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert not Passkey.select().exists()


@pytest.mark.promise(58)
def test_a_browser_without_passkeys_says_so_and_offers_none(visitor, ada):
    source = "delete window.PublicKeyCredential"
    added = visitor.browser.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": source}
    )
    visitor.log_in()
    visitor.open("/auth/passkeys")
    assert visitor.shown("[data-unsupported]") == ["This browser cannot use passkeys."]
    assert not visitor.find("[data-options]").is_displayed()
    visitor.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.mark.parametrize("is_logged_in", [False, True], ids=["login", "passkeys"])
def test_at_another_address_a_page_says_where_passkeys_work(
    browser, site, address, ada, is_logged_in
):
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    visitor = Visitor(browser, address.replace("localhost", "127.0.0.1"))
    if is_logged_in:
        visitor.log_in()
    visitor.open("/auth/passkeys" if is_logged_in else "/auth/login")
    assert visitor.shown("[data-elsewhere]") == [f"Passkeys work only at {address}"]
    assert not visitor.shown("[data-options] button")
    visitor.press(address)
    assert visitor.browser.current_url.startswith(f"{address}/auth/login")


@pytest.mark.promise(20)
@pytest.mark.promise(58)
def test_no_other_script_runs_on_a_page_with_one(visitor):
    visitor.open("/auth/login")
    visitor.run(
        "const script = document.createElement('script');"
        "script.textContent = 'document.title = `run`';"
        "document.body.append(script)"
    )
    assert visitor.browser.title == "Log in"


def test_there_are_five_ways_to_log_in(visitor, ada, site, device):
    visitor.log_in()
    assert methods() == "pwd"
    log_out(visitor)

    app = add_app(site, ada)
    visitor.log_in()
    visitor.submit(app.code())
    assert methods() == "pwd otp"
    log_out(visitor)

    recovery, *_ = recovery_codes.replace(ada, rounds=4)
    visitor.log_in()
    visitor.submit(recovery)
    assert methods() == "pwd otp recovery"

    visitor.open("/auth/passkeys")
    visitor.press("Add a passkey")
    log_out(visitor)
    visitor.log_in()
    visitor.press("Use a passkey")
    assert methods().startswith("pwd hwk")
    log_out(visitor)

    visitor.open("/auth/login")
    visitor.press("Log in with a passkey")
    assert methods() == "hwk user"
    visitor.open("/members")
    assert visitor.heading == "Members"


LATER = 11 * 60  # seconds, which is longer than a challenge lasts


@contextmanager
def eleven_minutes_later(visitor, site):
    """Move the clocks of the open page and of the site."""
    now = site.site.tokens.now
    visitor.run(f"const now = Date.now; Date.now = () => now() + {LATER * 1000}")
    site.site.tokens.now = lambda: now() + LATER
    yield
    site.site.tokens.now = now


def test_a_login_page_that_was_open_for_long_asks_for_a_passkey(visitor, ada, site, device):
    add_passkey(visitor)
    log_out(visitor)
    visitor.open("/auth/login?next=/members")
    with eleven_minutes_later(visitor, site):
        visitor.press("Log in with a passkey")
        assert (visitor.path, visitor.heading) == ("/members", "Members")


def test_a_new_passkey_is_added_by_a_page_that_was_open_for_long(visitor, ada, site, device):
    visitor.log_in()
    visitor.open("/auth/passkeys")
    with eleven_minutes_later(visitor, site):
        visitor.press("Add a passkey")
    assert Passkey.select().where(Passkey.user == ada.id).exists()


def test_a_second_step_that_was_open_for_long_is_renewed_for_its_own_login(
    visitor, ada, site, device
):
    add_passkey(visitor)
    log_out(visitor)
    visitor.open("/members")
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.page == "/auth/second"
    before = visitor.find("[data-options]").get_attribute("data-options")
    visitor.run(f"const now = Date.now; Date.now = () => now() + {LATER * 1000}")
    visitor.run(
        "const get = navigator.credentials.get.bind(navigator.credentials);"
        "navigator.credentials.get = (options) => {"
        "  sessionStorage.asked = btoa(String.fromCharCode(...options.publicKey.challenge));"
        "  return get(options);"
        "}"
    )
    visitor.press("Use a passkey")
    assert visitor.heading == "Members"
    asked = visitor.run("return sessionStorage.asked").replace("+", "-").replace("/", "_")
    assert asked.rstrip("=") not in before


def test_what_is_offered_among_the_names_is_renewed(visitor, ada, site):
    source = """
        PublicKeyCredential.isConditionalMediationAvailable = async () => true;
        window.challenges = new Set();
        navigator.credentials.get = ({ publicKey, mediation }) => {
          if (mediation === "conditional") challenges.add(String(publicKey.challenge));
          return new Promise(() => {});
        };
        const later = setTimeout;
        window.setTimeout = (run, after) => {
          if (after > 500000) window.again = run;
          else later(run, after);
        };
    """
    with running_first(visitor.browser, source):
        visitor.open("/auth/login")
        visitor.wait_until(lambda _: visitor.run("return window.challenges.size") == 1)
        visitor.run(f"const now = Date.now; Date.now = () => now() + {LATER * 1000}; again()")
        visitor.wait_until(lambda _: visitor.run("return window.challenges.size") == 2)


# Accounts that begin with a passkey

EMAIL = "lin@example.org"


def fill_in(visitor, **fields):
    for name, value in fields.items():
        visitor.find(f"[name={name}]").clear()
        visitor.find(f"[name={name}]").send_keys(value)


def watch_names(visitor):
    """Keep the name for which the next passkey is asked."""
    visitor.run(
        "const create = navigator.credentials.create.bind(navigator.credentials);"
        "navigator.credentials.create = (options) => {"
        "  const { name, displayName } = options.publicKey.user;"
        "  sessionStorage.names = `${name} ${displayName}`;"
        "  return create(options);"
        "}"
    )


def test_a_person_registers_with_a_passkey_instead_of_a_password(visitor, device):
    visitor.open("/auth/register?next=/members")
    fill_in(visitor, username="lin", email=EMAIL)
    watch_names(visitor)
    visitor.press("Use a passkey instead of a password")
    assert visitor.path == "/auth/account?done=passkey&next=%2Fmembers"
    assert "only an operator of this site can help" in visitor.find("[role=status]").text
    assert visitor.run("return sessionStorage.names") == f"{EMAIL} {EMAIL}"
    assert Passkey.get().name.startswith("Chrome")
    assert methods() == "hwk user"
    visitor.press("Continue")
    assert (visitor.path, visitor.heading) == ("/members", "Members")
    log_out(visitor)
    visitor.open("/auth/login")
    visitor.press("Log in with a passkey")
    assert methods() == "hwk user"


def test_the_other_fields_are_checked_before_a_passkey_is_made(visitor, device):
    visitor.open("/auth/register")
    fill_in(visitor, username="lin")
    click(visitor, "Use a passkey instead of a password")
    assert visitor.focus == "email"
    assert not device.get_credentials()
    fill_in(visitor, email=EMAIL)
    visitor.press("Use a passkey instead of a password")
    assert Passkey.select().exists()


def test_a_field_that_changes_meanwhile_asks_for_another_passkey(visitor, device):
    visitor.open("/auth/register")
    fill_in(visitor, username="lin", email="lon@example.org")
    visitor.run(
        "const create = navigator.credentials.create.bind(navigator.credentials);"
        "navigator.credentials.create = async (options) => {"
        "  const made = await create(options);"
        f"  document.querySelector('[name=email]').value = '{EMAIL}';"
        "  navigator.credentials.create = create;"
        "  return made;"
        "}"
    )
    click(visitor, "Use a passkey instead of a password")
    visitor.wait_until(lambda _: visitor.shown("[data-error]"))
    assert not Passkey.select().exists()
    visitor.press("Use a passkey instead of a password")
    assert Passkey.get().user.email == EMAIL


def test_a_passkey_for_a_taken_address_leaves_the_device_again(visitor, ada, device):
    visitor.open("/auth/register")
    fill_in(visitor, username="lin", email=ada.email)
    visitor.press("Use a passkey instead of a password")
    visitor.wait_until(lambda _: not device.get_credentials())
    visitor.wait_until(lambda _: not visitor.shown("[data-unknown]"))
    assert visitor.message_beside("email")
    fill_in(visitor, email=EMAIL)
    visitor.press("Use a passkey instead of a password")
    assert Passkey.get().user.email == EMAIL


def test_the_form_with_a_password_works_beside_the_passkey(visitor, device):
    visitor.open("/auth/register")
    fill_in(visitor, username="lin", email=EMAIL, password=PASSWORD)
    visitor.press("Create account")
    assert (visitor.path, methods()) == ("/", "pwd")
    assert not device.get_credentials()


def test_a_registration_page_that_was_open_for_long_registers(visitor, site, device):
    visitor.open("/auth/register")
    fill_in(visitor, username="lin", email=EMAIL)
    with eleven_minutes_later(visitor, site):
        visitor.press("Use a passkey instead of a password")
    assert Passkey.get().user.email == EMAIL


MAIL = {"MAIL_URL": "memory:", "MAIL_FROM": "site@example.org"}
WITHOUT_PASSWORDS = {**MAIL, "PASSWORD_LOGIN": False, "LOGIN_CODES": True}


@pytest.mark.parametrize("options", [WITHOUT_PASSWORDS], ids=[""])
def test_without_passwords_the_passkey_is_the_form(visitor, device):
    visitor.open("/auth/register")
    visitor.find("[name=username]").send_keys("lin")
    with visitor.leaving():
        visitor.find("[name=email]").send_keys(EMAIL, Keys.ENTER)
    assert visitor.path == "/auth/account?done=passkey"
    assert methods() == "hwk user"


@pytest.mark.parametrize("options", [WITHOUT_PASSWORDS], ids=[""])
@pytest.mark.promise(58)
def test_without_passwords_and_a_script_a_sentence_says_why_there_is_no_button(visitor, device):
    device.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visitor.open("/auth/register")
        assert not visitor.shown("main form button")
        assert "Passkeys need JavaScript" in visitor.find("main").text
    finally:
        device.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("options", [{**MAIL, "VERIFICATION": True}], ids=[""])
def test_the_page_of_a_link_makes_a_passkey_where_the_address_is_proven(visitor, site, device):
    visitor.open("/auth/register")
    fill_in(visitor, username="lin", email=EMAIL)
    assert not visitor.shown("[data-options] button")
    visitor.press("Send the link")
    (link,) = (each for each in mailbox(site).links if "/verify?" in each)
    visitor.open("/auth/" + link.partition("/auth/")[2])
    watch_names(visitor)
    visitor.press("Use a passkey instead of a password")
    assert visitor.path == "/auth/account?done=passkey"
    assert "an email to your address lets you in." in visitor.find("[role=status]").text
    assert visitor.run("return sessionStorage.names") == f"{EMAIL} {EMAIL}"
    user = Passkey.get().user
    assert (user.has_password, user.email_verified_by) == (False, "link")
