"""Accounts that begin with a passkey: at /auth/register, and on the page of a link."""

import json
import re
import time
from dataclasses import replace
from functools import partial

import pytest
from webtest import TestApp

from tests.support.authenticators import (
    PASSKEYS,
    USER_PRESENT,
    Authenticator,
    add_passkey,
    changed,
    options_of,
)
from tests.support.factors import FACTOR_KEY
from tests.support.identities import ENTRY
from tests.support.mails import Clock
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, find_user, storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.browser_keys import NEW_ACCOUNT
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors.passkeys import Passkey, PasskeyAccount
from wsgiauth.features.factors.passkeys.challenges import LIFETIME, REGISTER
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.features.factors.questions import QUESTIONS
from wsgiauth.testing import logged_in, mailbox
from wsgiauth.throttling.throttle import Throttle

REGISTER_PAGE = "/auth/register"
NAMES = {"username": USERNAME, "email": EMAIL}
SCRIPT = {**SAME_ORIGIN, "Accept": "application/json"}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0"


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of the site, which tests move."""
    made = Clock(int(time.time()))
    monkeypatch.setattr("wsgiauth.site.Throttle", partial(Throttle, clock=made))
    return made


@pytest.fixture
def options():
    """Return further settings of the site."""
    return {}


@pytest.fixture
def settings(settings, options):
    mail = {"MAIL_URL": "memory:", "MAIL_FROM": "site@example.org"}
    return replace(settings, **{**PASSKEYS, **mail, "FACTOR_KEY": FACTOR_KEY, **options})


@pytest.fixture
def site(settings, clock):
    made = AuthMiddleware(echo, settings)
    made.site.tokens.now = clock
    if settings.MAIL_URL:
        mailbox(made)  # so that no thread sends
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def client(site):
    return TestApp(site)


@pytest.fixture
def key():
    return Authenticator()


@pytest.fixture
def options_for(client):
    """Return a function that opens the page, and returns its options for a new passkey."""
    return lambda page=REGISTER_PAGE: options_of(client.get(page, headers=BROWSER))


def send(client, credential, status=303, headers=SAME_ORIGIN, **fields):
    sent = {**NAMES, "credential": credential, **fields}
    return client.post(REGISTER_PAGE, sent, headers=headers, status=status)


@pytest.fixture
def register(client, key, options_for):
    """Return a function that registers with a passkey, and returns the answer."""
    return lambda **further: send(client, key.create(options_for()), **further)


def alert(page):
    return page.html.find(role="alert", id="message").text


def unknown(page):
    """Return the credential id that the page lets the browser forget."""
    found = page.html.find(attrs={"data-unknown": True})
    return json.loads(found["data-unknown"])["credentialId"] if found else None


def nothing_was_made():
    return not (User.select().exists() or Passkey.select().exists() or Session.select().exists())


# The account


@pytest.mark.every_database
def test_a_passkey_creates_an_account_without_a_password_that_is_logged_in(register, client):
    answer = register(headers={**SAME_ORIGIN, "User-Agent": FIREFOX})
    assert answer.headers["Location"] == "/auth/account?done=passkey"
    user, passkey = User.get(), Passkey.get()
    assert (user.email, user.has_password, user.email_verified_at) == (EMAIL, False, None)
    assert (passkey.user, passkey.name) == (user, "Firefox on Linux")
    assert Session.get().methods == "hwk user"
    assert client.get("/").json["user"] == USERNAME


def test_the_passkey_logs_in_later(register, site, key):
    register()
    other = TestApp(site)
    answer = key.get(options_of(other.get("/auth/login", headers=BROWSER)))
    other.post("/auth/login", {"credential": answer}, headers=SAME_ORIGIN, status=303)
    assert other.get("/").json["user"] == USERNAME


def test_the_device_must_keep_the_passkey_and_verify_its_user(options_for):
    options = json.loads(options_for())
    assert options["authenticatorSelection"] == {
        "residentKey": "required",
        "requireResidentKey": True,
        "userVerification": "required",
    }
    assert (options["attestation"], options["excludeCredentials"]) == ("none", [])


def test_there_is_one_event_and_the_link_that_verifies_the_address(register, site):
    register()
    emitted = [(each.name, each.reason) for each in RecordedEvent.select()]
    assert emitted == [("registration", "passkey"), ("login", "hwk user")]
    assert [(each["To"], each["Subject"]) for each in mailbox(site)] == [
        (EMAIL, "Verify your email address for localhost:8080")
    ]


def test_a_password_that_was_typed_before_is_ignored(register):
    register(password=PASSWORD)
    assert not User.get().has_password


def test_a_script_gets_the_profile(register):
    answer = register(headers=SCRIPT, status=201)
    assert answer.json["username"] == USERNAME
    assert Session.get().methods == "hwk user"


def test_the_page_that_the_user_wanted_comes_after_the_account_page(register, client):
    answer = register(next="/members")
    page = answer.follow(headers=BROWSER)
    assert page.html.find("a", class_="button", string="Continue")["href"] == "/members"
    page = client.get("/auth/account?done=passkey&next=/members", headers=BROWSER)
    assert "Your account has been created" in page
    client.set_cookie("wsgiauth-done", "x")
    page = client.get("/auth/account?done=passkey&next=/members", headers=BROWSER)
    assert "/members" not in page.html.main.decode()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "but only once you have verified the address"),
        ({"MAIL_URL": None}, "only an operator of this site can help"),
        ({"SECOND_FACTOR": "all"}, "Make recovery codes now, in case you lose your device."),
    ],
    ids=["email", "no email", "second factor"],
)
def test_the_account_page_says_how_to_get_in_without_the_device(register, sentence):
    page = register().follow(headers=BROWSER)
    assert sentence in page.html.find(role="status").text
    assert "Two-step verification is off." not in page


def test_the_notice_about_the_link_stands_for_that_about_the_address(register, client):
    page = register().follow(headers=BROWSER)
    (notice,) = page.html.main.select(".notice")
    assert "only once you have verified the address" in notice.text
    client.get("/auth/account", headers=BROWSER).mustcontain("Your email address is not verified.")


def test_a_form_with_a_password_works_as_before(client):
    client.get(REGISTER_PAGE, headers=BROWSER)
    form = {**NAMES, "password": PASSWORD, "credential": ""}
    answer = client.post(REGISTER_PAGE, form, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/"
    assert (User.get().has_password, Session.get().methods) == (True, "pwd")
    assert not PasskeyAccount.select().exists()


@pytest.mark.parametrize("options", [{"PASSKEYS": False}], ids=["off"])
def test_without_passkeys_nothing_is_offered_and_a_credential_is_ignored(client):
    page = client.get(REGISTER_PAGE, headers=BROWSER)
    assert "data-options" not in page
    assert "Set-Cookie" not in page.headers
    send(client, "x", status=303, password=PASSWORD)
    assert User.get().has_password


@pytest.mark.parametrize("options", [{"USERNAMES": False}], ids=["off"])
def test_without_usernames_the_address_alone_is_asked_for(client, key, options_for):
    sent = {"email": EMAIL, "credential": key.create(options_for())}
    client.post(REGISTER_PAGE, sent, headers=SAME_ORIGIN, status=303)
    user = User.get()
    assert (user.email, Session.get().methods) == (EMAIL, "hwk user")
    page = client.get("/auth/passkeys", headers=BROWSER)
    assert json.loads(options_of(page))["user"]["name"] == EMAIL


# Sites without passwords

WITHOUT_PASSWORDS = {"PASSWORD_LOGIN": False, "LOGIN_CODES": True}


@pytest.mark.parametrize("options", [WITHOUT_PASSWORDS], ids=["off"])
def test_without_passwords_the_passkey_is_the_form(register, client):
    page = client.get(REGISTER_PAGE, headers=BROWSER)
    assert "assword" not in page.html.main.text
    (button,) = page.html.select("main form button")
    assert (button.text, button.get("class")) == ("Create account with a passkey", None)
    assert "Passkeys need JavaScript" in page.html.noscript.text
    assert "Create an account" in client.get("/auth/login", headers=BROWSER)
    register()
    assert Session.get().methods == "hwk user"


@pytest.mark.parametrize("options", [WITHOUT_PASSWORDS], ids=["off"])
def test_without_passwords_a_form_without_a_passkey_creates_nothing(client):
    form = {**NAMES, "password": PASSWORD, "credential": ""}
    page = client.post(REGISTER_PAGE, form, headers=SAME_ORIGIN, status=422)
    assert alert(page) == "Create a passkey to continue."
    assert nothing_was_made()


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (WITHOUT_PASSWORDS, {"password": PASSWORD}),
        (WITHOUT_PASSWORDS, {"credential": "x"}),
        ({}, {"credential": "x"}),
        ({}, {"credential": "x", "password": PASSWORD}),
    ],
    ids=["password", "passkey", "passkey instead", "both"],
)
def test_a_program_needs_a_browser(client, sent):
    refused = client.post_json(REGISTER_PAGE, {**NAMES, **sent}, status=422)
    assert refused.json["code"] == "browser_required"
    assert nothing_was_made()


# Attacks


@pytest.fixture
def party(site):
    return site.site.part(RelyingParty)


def test_a_challenge_of_another_purpose_creates_nothing(client, site, party, key, ada, clock):
    browser = TestApp(site)
    browser.get(REGISTER_PAGE, headers=BROWSER)
    for options in (
        party.creation_options(ada, clock()),
        json.dumps({**json.loads(party.creation_options(ada, clock())), **login(browser)}),
    ):
        page = send(browser, key.create(options), 422, username="eve", email="eve@example.org")
        assert alert(page) == "The passkey was not accepted. Try again."
        assert unknown(page) is None
    assert (User.select().count(), Passkey.select().count()) == (1, 0)


def login(browser):
    """Return the challenge of the login page."""
    page = browser.get("/auth/login", headers=BROWSER)
    return {"challenge": json.loads(options_of(page))["challenge"]}


def test_the_challenge_of_a_registration_permits_nothing_else(site, ada, key, options_for):
    browser = logged_in(site, ada)
    sent = {"name": "Laptop", "credential": key.create(options_for())}
    browser.post("/auth/passkeys", sent, headers=SAME_ORIGIN, status=422)
    own = add_passkey(site, ada)
    answer = own.get(options_for())
    TestApp(site).post("/auth/login", {"credential": answer}, headers=SAME_ORIGIN, status=401)
    assert Passkey.select().count() == 1


def test_the_challenge_of_another_browser_creates_nothing(site, key, options_for):
    credential, other = key.create(options_for()), TestApp(site)
    send(other, credential, 422)
    other.get(REGISTER_PAGE, headers=BROWSER)
    send(other, credential, 422)
    assert nothing_was_made()


def test_a_challenge_expires(client, key, options_for, clock):
    credential = key.create(options_for())
    clock.move(LIFETIME)
    send(client, credential, 422)
    assert nothing_was_made()


def test_two_tabs_of_a_browser_have_the_same_cookie(client, key, options_for):
    first = options_for()
    options_for()
    send(client, key.create(first))


@pytest.mark.parametrize(
    "lie",
    [
        {"host": "example.net"},
        {"origin": "https://example.net"},
        {"type": "webauthn.get"},
        {"further": {"crossOrigin": True}},
        {"flags": USER_PRESENT},
    ],
    ids=["relying party", "origin", "ceremony", "frame", "user not verified"],
)
def test_a_passkey_of_another_page_or_an_unverified_user_creates_nothing(
    client, register, key, lie
):
    vars(key).update(lie)
    assert alert(register(status=422)) == "The passkey was not accepted. Try again."
    assert nothing_was_made()


def test_a_credential_that_was_sent_before_creates_nothing(client, site, key, options_for):
    credential = key.create(options_for())
    send(client, credential)
    client.post("/auth/logout", headers=SAME_ORIGIN)
    page = send(client, credential, 409, username="eve", email="eve@example.org")
    assert alert(page).startswith("This passkey was used before, so no account was created.")
    assert unknown(page) is None  # an account has it
    assert [each.username for each in User.select()] == [USERNAME]
    assert not client.get("/").json["user"]


@pytest.mark.every_database
def test_a_credential_of_another_account_creates_nothing(site, client, ada, options_for):
    own = add_passkey(site, ada)
    page = send(client, own.create(options_for()), 409, username="eve", email="eve@example.org")
    assert unknown(page) is None
    assert (User.select().count(), Passkey.get().user) == (1, ada)
    assert not PasskeyAccount.select().exists()
    assert not Session.select().exists()


def test_a_taken_address_leaves_a_passkey_that_the_browser_can_forget(
    client, ada, key, options_for
):
    page = send(client, key.create(options_for()), 409, username="eve", email=ada.email)
    text = page.text
    assert text.index(page.html.find(id="email-error").text) < text.index("belongs to no account.")
    found = json.loads(page.html.find(attrs={"data-unknown": True})["data-unknown"])
    credential = json.loads(key.create(options_of(page)))
    assert found == {"rpId": "localhost", "credentialId": credential["id"]}
    assert (User.select().count(), Passkey.select().count()) == (1, 0)
    send(client, key.create(options_of(page)), username="eve", email="eve@example.org")


def test_a_name_that_breaks_a_rule_is_no_attempt_and_leaves_a_passkey_too(client, key, options_for):
    page = send(client, key.create(options_for()), 422, email="x")
    assert unknown(page)
    assert nothing_was_made()


@pytest.mark.parametrize("options", [{"REGISTRATIONS_PER_ADDRESS": 3}], ids=["limited"])
@pytest.mark.parametrize("sent", ["broken", "malformed", "replayed"])
def test_credentials_that_are_refused_count(client, key, options_for, sent):
    credential = key.create(options_for())
    if sent == "broken":
        credential = changed(credential, attestationObject="AAAA")
    if sent == "malformed":
        credential = "x"
    if sent == "replayed":
        send(client, credential)
        client.post("/auth/logout", headers=SAME_ORIGIN)
    for number in range(2 if sent == "replayed" else 3):
        names = {"username": f"eve{number}", "email": f"eve{number}@example.org"}
        send(client, credential, 409 if sent == "replayed" else 422, **names)
    send(client, Authenticator().create(options_for()), 429, username="x1", email="x1@example.org")


@pytest.mark.parametrize("options", [{"REGISTRATIONS_PER_ADDRESS": 3}], ids=["limited"])
def test_one_address_creates_a_few_accounts(client, options_for):
    statuses = []
    for number in range(5):
        names = {"username": f"eve{number}", "email": f"eve{number}@example.org"}
        answer = send(client, Authenticator().create(options_for()), "*", **names)
        statuses.append(answer.status_int)
        client.reset()
    assert statuses == [303] * 3 + [429] * 2


def test_a_form_of_another_site_creates_nothing(client, key, options_for):
    cross = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    send(client, key.create(options_for()), 403, headers=cross)
    assert nothing_was_made()


def test_the_second_of_two_tabs_creates_no_second_account(client, options_for):
    first, second = options_for(), options_for()
    send(client, Authenticator().create(first))
    cookie = client.cookies["wsgiauth"]
    other = {"username": "eve", "email": "eve@example.org"}
    send(client, Authenticator().create(second), 403, **other, account="")
    assert User.select().count() == 1
    assert client.cookies["wsgiauth"] == cookie
    assert client.get("/").json["user"] == USERNAME


@pytest.mark.parametrize("options", [{"SECOND_FACTOR": "all"}], ids=["all"])
def test_a_registration_meets_the_demand_of_a_second_factor(register, client):
    register()
    assert client.get("/").json["user"] == USERNAME


def test_the_only_passkey_stays(register, client):
    register()
    sent = {"remove": Passkey.get().id}
    refused = client.post("/auth/passkeys", sent, headers=SCRIPT, status=409)
    assert refused.json["code"] == "last_way_in"


def test_an_error_of_the_application_leaves_nothing(settings, key):
    def fail(user, answers):
        raise RuntimeError("no")

    site = AuthMiddleware(echo, settings, on_registered=fail)
    client = TestApp(site)
    credential = key.create(options_of(client.get(REGISTER_PAGE, headers=BROWSER)))
    send(client, credential, 500)
    assert nothing_was_made()
    storage.discard_connection(site.database)


# A stranger registers with the address of someone else


@pytest.mark.every_database
@pytest.mark.promise(100)
def test_the_owner_of_the_address_takes_the_account_by_a_link_for_a_password(
    register, site, client, key
):
    register()
    owner = TestApp(site)
    owner.post("/auth/forgot", {"username": EMAIL}, headers=SAME_ORIGIN, status=202)
    link = [each for each in mailbox(site).links if "/reset?" in each][-1]
    page = owner.get("/auth/" + link.partition("/auth/")[2], headers=BROWSER)
    assert "a new password also removes the passkeys" in page
    page.form["password"] = PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert not client.get("/").json["user"]
    assert not Passkey.select().exists()
    assert not PasskeyAccount.select().exists()
    answer = key.get(options_of(client.get("/auth/login", headers=BROWSER)))
    client.post("/auth/login", {"credential": answer}, headers=SAME_ORIGIN, status=401)
    sent = {"username": EMAIL, "password": PASSWORD}
    owner.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)
    assert owner.get("/").json["user"] == USERNAME


# What `check` says


@pytest.mark.parametrize(
    ("options", "is_said"), [({}, False), ({"MAIL_URL": None}, True)], ids=["email", "no email"]
)
def test_check_names_a_site_where_a_lost_passkey_is_final(site, is_said):
    found = [each.sentence for question in QUESTIONS for each in question.ask(site.site)]
    assert any("after they have lost it" in each for each in found) == is_said


# VERIFICATION


@pytest.mark.parametrize("options", [{"VERIFICATION": True}], ids=["on"])
@pytest.mark.promise(100)
def test_before_the_address_is_proven_a_passkey_is_neither_offered_nor_taken(
    site, client, key, party
):
    page = client.get(REGISTER_PAGE, headers=BROWSER)
    assert "data-options" not in page
    options = party.options_of_new_account("", "x", now=time.time())
    answers = [
        client.post(REGISTER_PAGE, {**NAMES, **sent}, headers=SCRIPT, status=202).body
        for sent in ({}, {"credential": key.create(options)})
    ]
    assert answers[0] == answers[1]
    assert nothing_was_made()


def link_in(site):
    """Return the path of the last link that creates an account."""
    link = [each for each in mailbox(site).links if "/verify?" in each][-1]
    return "/auth/" + link.partition("/auth/")[2]


@pytest.fixture
def link(site, client, options):
    """Return the path of the link of a registration."""
    client.post(REGISTER_PAGE, NAMES, headers=SAME_ORIGIN, status=202)
    return link_in(site)


def accept(client, link, credential, status=303, **further):
    sent = {"token": link.partition("token=")[2], "credential": credential, **further}
    return client.post("/auth/verify", sent, headers=SAME_ORIGIN, status=status)


@pytest.mark.every_database
@pytest.mark.parametrize("options", [{"VERIFICATION": True}], ids=["on"])
def test_the_page_of_the_link_creates_the_account_with_a_passkey(client, link, key, options_for):
    options = options_for(link)
    assert json.loads(options)["user"]["name"] == EMAIL
    answer = accept(client, link, key.create(options))
    assert answer.headers["Location"] == "/auth/account?done=passkey"
    user = User.get()
    assert (user.has_password, user.email_verified_by) == (False, "link")
    assert Session.get().methods == "hwk user"
    assert "an email to your address lets you in" in answer.follow(headers=BROWSER)
    reasons = [each.reason for each in RecordedEvent.select() if each.name == "registration"]
    assert reasons == ["passkey"]


_KEYS_ALONE = {"VERIFICATION": True, "PASSWORD_LOGIN": False}


def buttons_of(page):
    """Return the visible and hidden buttons of the form, by whether they are filled."""
    found = page.html.find("input", {"name": "token"}).find_parent("form").find_all("button")
    return [(each.text, "quiet" not in each.get("class", ())) for each in found]


@pytest.mark.parametrize(
    ("options", "further"),
    [
        (_KEYS_ALONE, []),
        ({**_KEYS_ALONE, "OIDC_PROVIDERS": (ENTRY,)}, [("Create account", False)]),
    ],
    ids=["alone", "or a provider"],
)
def test_where_a_new_user_could_not_log_in_again_the_passkey_comes_first(client, link, further):
    page = client.get(link, headers=BROWSER)
    assert buttons_of(page) == [("Create account with a passkey", True), *further]


@pytest.mark.parametrize("options", [_KEYS_ALONE], ids=["on"])
def test_without_a_way_in_two_step_verification_is_not_proposed(client, link):
    accept(client, link, "")
    page = client.get("/auth/account", headers=BROWSER)
    page.mustcontain("you cannot log in again", no="Two-step verification is off.")


@pytest.mark.parametrize("options", [{"VERIFICATION": True, "LOGIN_CODES": True}], ids=["on"])
def test_the_page_that_a_code_opens_creates_the_account_with_a_passkey(
    site, client, ada, key, options_for
):
    names = {"username": ada.username, "email": "lin@example.org"}  # the page asks for another
    client.post(REGISTER_PAGE, names, headers=SAME_ORIGIN, status=303)
    sent = {"code": mailbox(site).codes[-1]}
    answer = client.post("/auth/code/enter", sent, headers=SAME_ORIGIN, status=303)
    link = answer.headers["Location"]
    answer = accept(client, link, key.create(options_for(link)), username="lin")
    assert answer.headers["Location"] == "/auth/account?done=passkey"
    assert (find_user("lin").has_password, Session.get().methods) == (False, "hwk user")
    assert find_user("lin").email_verified_by == "link"


@pytest.mark.parametrize("options", [{"VERIFICATION": True}], ids=["on"])
def test_the_challenge_of_one_link_creates_no_account_of_another(
    site, client, link, key, options_for
):
    eve = {"username": "eve", "email": "eve@example.org"}
    client.post(REGISTER_PAGE, eve, headers=SAME_ORIGIN, status=202)
    of_eve = link_in(site)
    accept(client, link, key.create(options_for(of_eve)), 422)
    assert nothing_was_made()
    accept(client, link, key.create(options_for(link)))


@pytest.mark.parametrize("options", [{"VERIFICATION": True}], ids=["on"])
def test_a_refused_passkey_leaves_the_link(client, site, ada, options_for):
    own = add_passkey(site, ada)
    names = {"username": "eve", "email": "eve@example.org"}
    client.post(REGISTER_PAGE, names, headers=SAME_ORIGIN, status=202)
    link = link_in(site)
    page = accept(client, link, own.create(options_for(link)), 409)
    assert unknown(page) is None
    key = Authenticator()
    page = accept(client, link, key.create(options_of(page)), 409, username=ada.username)
    assert unknown(page)
    accept(client, link, key.create(options_of(page)))
    assert find_user("eve").email_verified_at


@pytest.mark.parametrize("options", [{"VERIFICATION": True}], ids=["on"])
def test_a_program_opens_no_link_with_a_passkey(client, link):
    sent = {"token": link.partition("token=")[2], "credential": "x"}
    refused = client.post_json("/auth/verify", sent, status=422)
    assert refused.json["code"] == "browser_required"
    assert nothing_was_made()


def test_the_purpose_is_no_other(options_for):
    assert NEW_ACCOUNT.name not in (REGISTER.name, "log in", "second step", "confirm")


def test_a_browser_gets_no_value_that_a_client_chose(site):
    sent = {**BROWSER, "Cookie": "wsgiauth-new-key=chosen"}
    (cookie,) = TestApp(site).get("/auth/register", headers=sent).headers.getall("Set-Cookie")
    assert re.match("wsgiauth-new-key=[A-Za-z0-9_-]{22};", cookie)
    (again,) = (
        TestApp(site)
        .get("/auth/register", headers={**BROWSER, "Cookie": cookie.partition(";")[0]})
        .headers.getall("Set-Cookie")
    )
    assert again == cookie
