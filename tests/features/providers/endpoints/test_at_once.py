"""`register=at_once`: the callback creates an account, where nothing more must be asked.

Accounts that were taken over or created without their owner, and what no test here permits:

- RFC 6749 section 10.12: an attacker's own code and `state` in another browser log its user in to
  the attacker's account, and here would also create it.
- Sudhodanan and Paverd, "Pre-hijacked accounts" (USENIX Security 2022): who registers an address
  first, by a provider that claims what is not true, keeps a way in.
"""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from webtest import TestApp

from tests.features.terms.sites import TERMS
from tests.support.factors import FACTOR_KEY
from tests.support.mails import MAIL
from tests.support.oauth_providers import Discord, GitHub
from tests.support.provider_logins import begin, come_back, connect, log_in, path_of
from tests.support.sites import BROWSER, EMAIL, SAME_ORIGIN, USERNAME
from tests.support.tabs import OIDC, PROVIDER, give_cookies, tab_cookies
from wsgiauth import Field, User, storage
from wsgiauth.accounts import find_user, names
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.features.providers import at_once
from wsgiauth.features.providers.identities import Identity
from wsgiauth.testing import logged_in, make_user, provider_account

AT_ONCE = {"register": "at_once"}


@pytest.fixture
def make(make_provider_site):
    """Return a function that makes a site whose entry has `register=at_once`."""
    return lambda entry=None, **changes: make_provider_site({**AT_ONCE, **(entry or {})}, **changes)


@pytest.fixture
def client(make):
    return TestApp(make())


def who(client):
    return client.get("/").json["user"]


def account_page(client):
    return client.get("/auth/account", headers=BROWSER).html.main.text


def is_asked(client, provider, subject="eve", headers=()):
    """Log in; check that a page asks, and that there is no new account and no session."""
    before, sessions = User.select().count(), Session.select().count()
    query = provider.authorize(begin(client), subject)
    url = f"/auth/oidc/google/callback?{query}"
    answer = client.get(url, headers={**BROWSER, **dict(headers)}, status=303)
    assert path_of(answer) == "/auth/complete"
    assert (User.select().count(), Session.select().count()) == (before, sessions)
    assert not Identity.select().exists()
    return answer.follow(headers=BROWSER)


@pytest.mark.every_database
@pytest.mark.promise(101)
def test_an_account_is_created_and_logged_in_without_a_page(client, provider, heard):
    answer = log_in(client, provider, "eve", status=303, next="/reports", remember="on")
    assert answer.location == "/reports"
    assert who(client) == "eve"
    user = User.get()
    assert (user.email, user.email_verified_by) == ("eve@example.org", provider.issuer)
    assert (user.has_password, user.is_staff, user.is_superuser) == (False, False, False)
    assert Identity.get().user_id == user.id
    assert "Max-Age=25" in next(
        each for each in answer.headers.getall("Set-Cookie") if each.startswith("wsgiauth=")
    )
    assert not tab_cookies(client, OIDC) | tab_cookies(client, PROVIDER)
    assert not OneTimeSecret.select().where(OneTimeSecret.purpose == "provider account").exists()
    events = [(each.name, each.reason) for each in heard]
    assert events == [
        ("registration", "google"),
        ("identity_connected", "google"),
        ("login", "fed"),
    ]
    client.reset()
    log_in(client, provider, "eve", status=303)
    assert (who(client), User.select().count()) == ("eve", 1)


def test_the_account_page_names_the_new_account_once(client, provider):
    answer = log_in(client, provider, "eve", status=303)
    assert path_of(answer) == "/auth/account"
    page = answer.follow(headers=BROWSER)
    assert "Account created for eve@example.org. Not you?" in page.html.main.text
    assert page.html.select_one("p.notice a")["href"] == "/auth/close"
    assert "Account created" not in account_page(client)


def test_after_a_page_of_the_application_the_account_page_still_names_it(client, provider):
    log_in(client, provider, "eve", status=303, next="/reports")
    assert "Account created for eve@example.org." in account_page(client)


def test_another_user_of_the_browser_is_told_nothing_of_it(client, ada, provider):
    connect(ada, provider)
    log_in(client, provider, "eve", status=303)
    log_in(client, provider, "ada", status=303)
    assert who(client) == USERNAME
    assert "Account created" not in account_page(client)


@pytest.mark.promise(101)
def test_the_wrong_account_on_the_login_page_leaves_the_right_one_alone(
    client, ada, provider, heard
):
    """Ada has a password here, and chooses another account at the provider than she meant to."""
    provider.people["eve"] = {"email": "ada.work@example.net"}
    log_in(client, provider, "eve", status=303, next="/reports")
    assert User.select().count() == 2
    assert Identity.get().user_id != ada.id
    assert User.get_by_id(ada.id).email == EMAIL
    assert ("registration", "google") in [(each.name, each.reason) for each in heard]
    assert "Account created for ada.work@example.net." in account_page(client)


@pytest.mark.promise(101)
def test_where_people_have_no_usernames_none_is_proposed(make, ada, provider):
    client = TestApp(make(USERNAMES=False))
    provider.people["eve"] = {"preferred_username": USERNAME}
    answer = log_in(client, provider, "eve", status=303)
    user = User.get(User.email == "eve@example.org")
    assert names.is_made(user.username)
    assert who(client) == user.username
    page = answer.follow(headers=BROWSER).html.main.text
    assert "Account created for eve@example.org." in page
    assert user.username not in page


def test_where_registration_is_closed_the_entry_can_still_open_it(make, provider):
    client = TestApp(make({"create": "on"}, REGISTRATION=False))
    log_in(client, provider, "eve", status=303)
    assert who(client) == "eve"


# What must be asked, or refused.

OF_SITE = {
    "asked": {"entry": {"register": "ask"}},
    "required field": {"registration": [Field("phone", "Phone", required=True)]},
    "optional field": {"registration": [Field("phone", "Phone")]},
    "terms": TERMS,
    "text of terms": {"TERMS_URL": "https://example.org/terms"},
    "registration closed": {"REGISTRATION": False},
    "entry closed": {"entry": {"create": "off"}},
}


@pytest.mark.promise(101)
@pytest.mark.parametrize("changes", OF_SITE.values(), ids=OF_SITE)
def test_a_site_that_asks_for_more_creates_nothing_at_once(changes, make, provider):
    is_asked(TestApp(make(**changes)), provider)


OF_PERSON = {
    "not verified": {"email_verified": False},
    "not said to be verified": {"email_verified": None},
    "verified in a string": {"email_verified": "true"},
    "no address": {"email": None},
    "unusable address": {"email": "eve@example.org, ada@example.org"},
    "address of a user": {"email": EMAIL},
    "address in another case": {"email": EMAIL.upper()},
    "address that looks alike": {"email": "ada@example.ºrg"},
    "other spelling of a domain": {"email": "bo@xn--bcher-kva.example"},
    "name that is reserved": {"preferred_username": "uabcdefghijklmno", "email": "+@b.example"},
    "no name": {"preferred_username": "@", "email": "+@example.org"},
}


@pytest.mark.promise(101)
@pytest.mark.parametrize("claims", OF_PERSON.values(), ids=OF_PERSON)
def test_a_person_who_must_be_asked_has_not_tried_to_register(
    claims, make, ada, provider, stopped_throttle
):
    User.objects.create(username="Bo", email="bo@bücher.example", hashed_password="")
    provider.people["eve"] = claims
    client = TestApp(make(REGISTRATIONS_PER_ADDRESS=1))
    for _ in range(2):
        assert not is_asked(client, provider).html.select_one("#message")


def test_a_taken_name_is_said_and_asked_for_again(client, ada, provider):
    provider.people["eve"] = {"preferred_username": USERNAME}
    page = is_asked(client, provider)
    assert page.html.select_one("#message").text == "This username is taken."
    page.form["username"] = "Eve"
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert who(client) == "Eve"


@pytest.mark.promise(68)
def test_taken_names_cannot_be_found_out_without_limit(make, ada, provider, stopped_throttle):
    client = TestApp(make(REGISTRATIONS_PER_ADDRESS=2))
    provider.people["eve"] = {"preferred_username": USERNAME}
    for _ in range(2):
        is_asked(client, provider)
    log_in(client, provider, "eve", status=429)


@pytest.mark.promise(101)
def test_a_client_that_has_registered_too_often_waits(make, provider, stopped_throttle):
    client = TestApp(make(REGISTRATIONS_PER_ADDRESS=1))
    log_in(client, provider, "eve", status=303)
    client.reset()
    refused = log_in(client, provider, "ivy", status=429)
    assert int(refused.headers["Retry-After"]) > 0
    assert (who(client), User.select().count()) == (None, 1)
    log_in(client, provider, "eve", status=303)  # who has an account is not concerned
    assert who(client) == "eve"


def test_a_deactivated_user_gets_no_other_account(client, ada, provider):
    connect(ada, provider)
    ada.is_active = False
    ada.save()
    log_in(client, provider, "ada", status=403)
    assert (who(client), User.select().count()) == (None, 1)


@pytest.mark.parametrize("kind", [GitHub, Discord])
@pytest.mark.parametrize("is_verified", [True, False], ids=["verified", "not verified"])
def test_at_github_and_discord_the_verified_primary_address_counts(
    kind, is_verified, make_provider_site
):
    with kind() as provider:
        client = TestApp(make_provider_site(OIDC_PROVIDERS=(provider.entry("google", **AT_ONCE),)))
        for each in provider.accounts.values():
            if "emails" in each:
                each["emails"][0]["verified"] = is_verified
            else:
                each["verified"] = is_verified
        if not is_verified:
            is_asked(client, provider, "ada")
            return
        log_in(client, provider, "ada", status=303)
        assert User.get().email == "ada@example.org"


# A function of the application.


def refuse(error, _user, _values):
    raise error


REFUSALS = {
    "refused": (ValidationError({"username": ["Not in <Berlin>."]}), "Not in <Berlin>."),
    "taken": (TakenError({"x": ["Two of a kind.", "Or three."]}), "Two of a kind. Or three."),
    "long": (ValidationError({"x": ["ö" * 5000]}), "ö" * 300),
    "failed": (ZeroDivisionError(), "An error occurred on this site."),
}


@pytest.mark.parametrize(("error", "message"), REFUSALS.values(), ids=REFUSALS)
def test_an_application_that_refuses_lets_the_page_say_so(error, message, make, provider):
    client = TestApp(make(on_registered=partial(refuse, error)))
    page = is_asked(client, provider)
    assert page.html.select_one("#message").text.startswith(message)
    assert page.form["username"].value == "eve"
    assert not client.get(page.form.action, headers=BROWSER).html.select_one("#message")


def test_the_page_says_it_in_the_language_of_its_reader(make, ada, provider):
    client = TestApp(make(LANGUAGES=("en", "de")), {"HTTP_ACCEPT_LANGUAGE": "de"})
    provider.people["eve"] = {"preferred_username": USERNAME}
    assert "vergeben" in is_asked(client, provider).html.select_one("#message").text


def test_an_application_that_accepts_gets_no_values(make, provider):
    passed = []
    site = make(on_registered=lambda user, values: passed.append((user.username, values)))
    log_in(TestApp(site), provider, "eve", status=303)
    assert passed == [("eve", {})]


def test_a_user_whose_claims_fail_has_an_account_and_logs_in_later(make, provider):
    client = TestApp(make(claims=lambda user: 1 / 0))
    answer = log_in(client, provider, "eve", status=303, next="/reports")
    assert answer.location == "/auth/login?next=%2Freports"
    assert (who(client), User.select().count(), Identity.select().count()) == (None, 1, 1)


@pytest.mark.promise(101)
def test_a_process_that_is_killed_leaves_no_half_account(make, provider):
    client = TestApp(make(on_registered=lambda *_: os.kill(os.getpid(), signal.SIGKILL)))
    query = provider.authorize(begin(client), "eve")
    process = os.fork()
    if process == 0:
        come_back(client, query)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL
    assert not User.select().exists()
    assert not Identity.select().exists()


# Who is logged in, and what is demanded.


@pytest.mark.promise(101)
def test_a_user_who_is_logged_in_is_asked_whether_to_connect(client, provider):
    member = logged_in(client.app, make_user(client.app))
    page = is_asked(member, provider)
    assert page.html.find("button", attrs={"name": "connect"})
    assert who(member) == "ada"


@pytest.mark.promise(101)
def test_so_is_a_user_who_must_first_set_up_a_second_factor(make, provider):
    site = make(FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all")
    member = logged_in(site, make_user(site), second_factor=False)
    answer = is_asked(member, provider)
    assert answer.location.startswith("/auth/totp?next=%2Fauth%2Fcomplete%3F")


def test_a_user_about_to_connect_an_account_that_exists_gets_no_new_one(client, ada, provider):
    """Ada comes by an account that has her address, and then logs in by another one."""
    page = is_asked(client, provider, "ada")
    login = page.click("Log in to connect both")
    destination = login.form["next"].value
    answer = log_in(client, provider, "eve", status=303, next=destination)
    assert path_of(answer) == "/auth/complete"
    assert User.select().count() == 1


@pytest.mark.promise(101)
def test_a_demanded_second_factor_is_set_up_first(make, provider):
    client = TestApp(make(FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all"))
    answer = log_in(client, provider, "eve", status=303)
    assert path_of(answer) == "/auth/totp"
    assert (who(client), User.select().count()) == (None, 1)


# Requests that no user of this browser has made.

NOT_OPENED = {
    "prefetch": {"Sec-Purpose": "prefetch"},
    "prerender": {"Sec-Purpose": "prefetch;prerender"},
    "older prefetch": {"Purpose": "prefetch"},
    "iframe": {"Sec-Fetch-Dest": "iframe"},
    "object": {"Sec-Fetch-Dest": "object"},
    "image": {"Sec-Fetch-Dest": "image"},
    "script": {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors"},
}


@pytest.mark.promise(101)
@pytest.mark.parametrize("headers", NOT_OPENED.values(), ids=NOT_OPENED)
def test_what_no_user_has_opened_creates_nothing(headers, client, provider):
    is_asked(client, provider, headers=headers)


@pytest.mark.promise(101)
def test_what_a_user_has_opened_creates_the_account(client, provider):
    query = provider.authorize(begin(client), "eve")
    headers = {**BROWSER, "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "cross-site"}
    client.get(f"/auth/oidc/google/callback?{query}", headers=headers, status=303)
    assert who(client) == "eve"


@pytest.mark.promise(101)
def test_head_and_post_create_nothing(client, provider):
    url = f"/auth/oidc/google/callback?{provider.authorize(begin(client), 'eve')}"
    client.head(url, headers=BROWSER, status=405)
    client.post(url, headers=SAME_ORIGIN, status=405)
    assert not User.select().exists()


@pytest.mark.promise(101)
def test_the_code_and_state_of_an_attacker_create_nothing_in_another_browser(
    client, provider, heard
):
    query = provider.authorize(begin(client), "mallory")
    victim = TestApp(client.app)
    come_back(victim, query, status=400)
    begin(victim)  # has a cookie of its own, for another state
    come_back(victim, query, status=400)
    assert [each.reason for each in heard] == ["google: no cookie"] * 2
    assert (who(victim), User.select().exists(), Session.select().exists()) == (None, False, False)


@pytest.mark.promise(101)
def test_another_site_begins_no_login(client, provider):
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/oidc/google", {"next": ""}, headers=headers, status=403)
    client.get("/auth/oidc/google", headers=headers, status=405)
    assert not client.cookies


@pytest.mark.promise(101)
@pytest.mark.parametrize("has_passwords", [True, False], ids=["passwords", "provider alone"])
def test_a_single_provider_is_never_asked_without_a_press(has_passwords, make, provider):
    client = TestApp(make(PASSWORD_LOGIN=has_passwords))
    for url in ("/auth/login", "/auth/login?next=/reports", "/auth/login?prompt=create"):
        assert client.get(url, headers=BROWSER, status=200).html.select_one("main button")
    assert not provider.requests
    assert not tab_cookies(client, OIDC)


# At the same time.


@pytest.mark.every_database
@pytest.mark.promise(101)
def test_two_tabs_at_a_time_get_one_account(client, provider, monkeypatch, heard):
    """Both find that no user has the address, before either creates the account."""
    tabs = [TestApp(client.app) for _ in range(2)]
    queries = [provider.authorize(begin(each), "eve") for each in tabs]
    both = threading.Barrier(2, timeout=60)

    def find_when_both_are_there(email):
        both.wait()
        found = find_user(email)
        both.wait()
        return found

    def open_in(tab, query):
        try:
            return come_back(tab, query, status=303)
        finally:
            storage.discard_connection(client.app.database)  # of this thread

    monkeypatch.setattr(at_once, "find_user", find_when_both_are_there)
    with ThreadPoolExecutor() as threads:
        answers = list(threads.map(open_in, tabs, queries))
    assert {path_of(each) for each in answers} <= {"/", "/auth/account"}
    assert [who(each) for each in tabs] == ["eve", "eve"]
    assert (User.select().count(), Identity.select().count()) == (1, 1)
    assert [each.name for each in heard].count("registration") == 1


@pytest.mark.promise(101)
def test_a_double_click_creates_one_account(client, provider):
    query = provider.authorize(begin(client), "eve")
    cookies = tab_cookies(client, OIDC)
    come_back(client, query, status=303)
    give_cookies(client, cookies)
    come_back(client, query, status=400)
    assert (who(client), User.select().count()) == ("eve", 1)


# A provider that lies, and tests of applications.


@pytest.mark.promise(100)
@pytest.mark.promise(101)
def test_an_emailed_link_ends_what_a_lying_provider_has_begun(make, provider):
    """Mallory's provider says that Mallory has Ada's address, which has no account yet."""
    site = make(**MAIL)
    mallory = TestApp(site)
    provider.people["mallory"] = {"email": EMAIL}
    log_in(mallory, provider, "mallory", status=303)
    assert who(mallory) == "mallory"
    link = make_reset_link(User.get(), site.site.settings, mount="/auth", now=time.time())
    owner, password = TestApp(site), "an unrelated long phrase"
    page = owner.get(link.removeprefix("https://example.org"), headers=BROWSER)
    page.form["password"] = password
    page.form.submit(headers=SAME_ORIGIN)
    assert not Identity.select().exists()
    assert who(mallory) is None
    is_asked(mallory, provider, "mallory")  # the address has an account now
    fields = {"username": EMAIL, "password": password}
    owner.post_json("/auth/login", fields, status=200)


def test_an_application_can_test_it_without_a_provider(make):
    site = make()
    provider_account(site, "google", subject="7", email="eve@a.example", email_verified=True)
    client = TestApp(site)
    answer = client.post("/auth/oidc/google", {"next": "/reports"}, headers=SAME_ORIGIN).follow()
    assert path_of(answer) == "/reports"
    assert who(client) == "eve"
