"""GET and POST /auth/verify, with the link that proves an address of a user."""

import time

import pytest
from webtest import TestApp

from tests.support.mails import MAIL, Post, with_mail
from tests.support.processes import meet
from tests.support.sites import (
    BROWSER,
    EMAIL,
    PASSWORD,
    SAME_ORIGIN,
    SECRET_KEY,
    USERNAME,
    echo,
)
from wsgiauth import AuthMiddleware, Settings, change_password, events, storage
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import ADDRESS, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.password import find_holder, make_reset_link
from wsgiauth.cli import main
from wsgiauth.features.links.address_links import (
    make_address_link,
    prove_address,
)
from wsgiauth.testing import bearer as bearer_at
from wsgiauth.testing import logged_in, make_user

NEW = "ada@example.net"
ROOT = MAIL["PUBLIC_URL"]
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def site(settings):
    made = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    yield made
    storage.discard_connection(storage.current())


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


def link_for(user, email, site, now=None):
    """Return the path of a link that proves an address."""
    now = time.time() if now is None else now
    url = make_address_link(user, email, site.site.settings, mount="/auth", now=now)
    assert url.startswith(f"{ROOT}/auth/verify?token=")
    return url.removeprefix(ROOT)


@pytest.fixture
def link(site, ada):
    return link_for(ada, NEW, site)


@pytest.fixture
def token(link):
    return token_of(link)


def token_of(link):
    return link.partition("=")[2]


def secret_of(token):
    return one_time.find(token, ADDRESS, now=time.time())


def send(client, token, headers=None, status="*"):
    return client.post_json("/auth/verify", {"token": token}, headers=headers, status=status)


def address_of(user):
    """Return the stored address, and whether it is verified."""
    stored = User.get_by_id(user.id)
    return stored.email, stored.email_verified_at is not None


@pytest.mark.parametrize("shown", [[EMAIL], [NEW, EMAIL]], ids=["present", "new"])
def test_without_usernames_the_page_has_each_address_once(settings, shown):
    site = AuthMiddleware(echo, with_mail(settings, USERNAMES=False), send_mail=Post())
    user = make_user(site, USERNAME, email=EMAIL)
    page = logged_in(site, user).get(link_for(user, shown[0], site), headers=BROWSER).html
    assert [each.text for each in page.main.find_all("strong")] == shown
    storage.discard_connection(site.database)


@pytest.mark.every_database
@pytest.mark.promise(39)
def test_the_user_who_asked_gets_the_address_and_stays_logged_in(browser, link, ada):
    page = browser.get(link, headers=BROWSER)
    page.mustcontain(f'Your address will be <strong dir="auto">{NEW}', EMAIL, USERNAME)
    assert len(page.html.main.select("button")) == 1
    assert address_of(ada) == (EMAIL, False)
    done = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert done.location == "/auth/account?done=email"
    account = done.follow(headers=BROWSER)
    assert (
        account.html.find(role="status").text == "Your email address has been verified and saved."
    )
    assert address_of(ada) == (NEW, True)


@pytest.mark.every_database
@pytest.mark.promise(39)
def test_a_program_verifies_with_the_token_of_its_login(client, token, ada, bearer):
    headers = bearer(ada)
    done = send(client, token, headers, 200)
    assert done.json == {"detail": "Email address verified."}
    assert client.get("/auth/me", headers=headers).json["email"] == NEW
    assert address_of(ada) == (NEW, True)


def test_the_present_address_is_verified(browser, site, ada):
    page = browser.get(link_for(ada, EMAIL, site), headers=BROWSER)
    assert "becomes" not in page
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert address_of(ada) == (EMAIL, True)


# Who opens the link.


@pytest.mark.promise(39)
def test_an_anonymous_browser_logs_in_and_comes_back(client, link, ada):
    asked = client.get(link, headers=BROWSER, status=302)
    page = asked.follow(headers=BROWSER)
    page.form["username"], page.form["password"] = USERNAME, PASSWORD
    back = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert back.location == link
    back.follow(headers=BROWSER).form.submit(headers=SAME_ORIGIN, status=303)
    assert address_of(ada) == (NEW, True)


@pytest.mark.promise(39)
def test_a_form_without_a_login_changes_nothing_and_comes_back(client, link, token, ada):
    asked = client.post("/auth/verify", {"token": token}, headers=SAME_ORIGIN, status=303)
    page = asked.follow(headers=BROWSER)
    assert page.form["next"].value == link
    assert send(client, token, status=401).json["code"] == "unauthenticated"
    client.post("/auth/verify", {"token": token}, headers=SCRIPT, status=401)
    assert address_of(ada) == (EMAIL, False)


@pytest.mark.promise(39)
def test_the_click_of_a_victim_proves_nothing_for_a_stranger(site, link, token, ada, grace):
    victim = logged_in(site, grace)
    page = victim.get(link, headers=BROWSER, status=403)
    page.mustcontain("This page is for another account", "Use another account")
    first, second = page.html.main.find_all("a")
    assert (first.text, first["class"]) == ("Use another account", ["button"])
    assert (second.text, second["class"]) == ("Back to your account", ["button", "quiet"])
    assert page.click("Use another account").form["next"].value == link
    page = victim.post("/auth/verify", {"token": token}, headers=SAME_ORIGIN, status=403)
    assert "This page is for another account" in page
    assert send(victim, token, SCRIPT, 403).json["code"] == "other_account"
    assert address_of(ada) == (EMAIL, False)
    assert address_of(grace) == (grace.email, False)
    send(logged_in(site, ada), token, SCRIPT, 200)


# What is refused.


@pytest.mark.every_database
@pytest.mark.promise(17)
@pytest.mark.promise(33)
@pytest.mark.promise(35)
def test_a_link_works_once_and_get_head_and_another_site_do_not_use_it(
    client, site, link, token, ada, queries
):
    answers = [client.get(link, headers=BROWSER)]
    browser = logged_in(site, ada)
    for _ in range(3):
        sent = queries(lambda: answers.append(browser.get(link, headers=BROWSER, status=200)))
        assert {each.lstrip()[:6] for each in sent} == {"SELECT"}
        browser.head(link, headers=BROWSER, status=200)
    cross_site = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    browser.post("/auth/verify", {"token": token}, headers=cross_site, status=403)
    assert address_of(ada) == (EMAIL, False)
    answers.append(send(browser, token, SCRIPT, 200))
    refused = send(browser, token, SCRIPT, 410)
    assert refused.json["code"] == "link_expired"
    pages = [
        browser.get(link, headers=BROWSER, status=410),
        browser.post("/auth/verify", {"token": token}, headers=SAME_ORIGIN, status=410),
    ]
    for page in pages:
        page.mustcontain("This link can no longer be used")
        page.click("Verify an email address")
    # No answer lets the browser send the address on.
    policies = {each.headers["Referrer-Policy"] for each in (*answers, refused, *pages)}
    assert policies == {"strict-origin"}


@pytest.mark.promise(35)
def test_one_link_ends_the_others_of_the_user(browser, token, site, ada):
    other = token_of(link_for(ada, "third@example.org", site))
    send(browser, token, SCRIPT, 200)
    send(browser, other, SCRIPT, 410)


@pytest.mark.every_database
@pytest.mark.promise(35)
def test_a_link_to_the_old_address_stays_ended_when_the_address_comes_back(
    browser, token, site, ada
):
    settings = site.site.settings
    old = token_of(make_reset_link(ada, settings, mount="/auth", now=time.time()))
    send(browser, token, SCRIPT, 200)
    send(browser, token_of(link_for(User.get_by_id(ada.id), EMAIL, site)), SCRIPT, 200)
    assert address_of(ada) == (EMAIL, True)
    assert find_holder(old, now=time.time()) is None


def save(user, email):
    user.email = email
    user.save()


def set_by_command(user, email):
    storage.discard_connection(storage.current())  # the command opens another one
    assert main(["set", user.username, "--email", email]) == 0


READDRESS = {
    "update_user": lambda user, email: update_user(user, email=email),
    "save": save,
    "command line": set_by_command,
}


@pytest.mark.every_database
@pytest.mark.promise(35)
def test_no_link_works_again_when_the_old_address_comes_back(site, ada, settings, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    for name, readdress in READDRESS.items():
        ada = User.get_by_id(ada.id)
        proof = token_of(link_for(ada, NEW, site))
        reset = token_of(make_reset_link(ada, site.site.settings, mount="/auth", now=time.time()))
        readdress(ada, "third@example.org")
        readdress(ada, EMAIL)
        assert address_of(ada) == (EMAIL, False), name
        assert find_holder(reset, now=time.time()) is None, name
        assert secret_of(proof) is None, name


@pytest.mark.promise(35)
def test_a_bulk_query_that_changes_the_address_leaves_links_that_are_refused(
    browser, site, token, ada
):
    reset = token_of(make_reset_link(ada, site.site.settings, mount="/auth", now=time.time()))
    User.update(email=NEW, email_key=NEW).where(User.id == ada.id).execute()
    assert OneTimeSecret.select().count() == 2
    send(browser, token, SCRIPT, 410)
    assert find_holder(reset, now=time.time()) is None


@pytest.mark.promise(35)
def test_the_proof_of_the_present_address_ends_no_other_link(browser, site, ada):
    reset = token_of(make_reset_link(ada, site.site.settings, mount="/auth", now=time.time()))
    send(browser, token_of(link_for(ada, EMAIL, site)), SCRIPT, 200)
    assert find_holder(reset, now=time.time()) == ada


@pytest.mark.promise(35)
def test_what_is_no_token_is_refused(browser):
    for token in ("", "x", "x" * 5000, "\U0001f600", "\0"):
        send(browser, token, SCRIPT, 410)
        browser.get("/auth/verify", {"token": token.encode()}, headers=BROWSER, status=410)
    browser.get("/auth/verify", headers=BROWSER, status=410)


@pytest.mark.promise(35)
def test_a_link_of_one_purpose_opens_no_other_and_ends_after_link_minutes(
    browser, site, token, ada
):
    reset = make_reset_link(ada, site.site.settings, mount="/auth", now=time.time())
    send(browser, token_of(reset), SCRIPT, 410)
    browser.get(f"/auth/reset?token={token}", headers=BROWSER, status=410)
    link = link_for(ada, NEW, site, now=time.time() - 3600)
    send(browser, token_of(link), SCRIPT, 410)


ENDS = {
    "password": lambda ada, settings: change_password(ada, "third bird song", settings=settings),
    "deactivation": lambda ada, settings: update_user(ada, is_active=False),
    "new address": lambda ada, settings: update_user(ada, email="third@example.org"),
    "deletion": lambda ada, settings: delete_user(ada),
}


@pytest.mark.promise(35)
def test_a_link_ends_with_a_change_of_the_user(site, ada, settings):
    for end in ENDS.values():
        user = User.get_by_id(ada.id)
        update_user(user, is_active=True)
        browser, link = logged_in(site, user), link_for(user, NEW, site)
        browser.get(link, headers=BROWSER, status=200)
        end(user, settings)
        browser.get(link, headers=BROWSER, status=410)
        send(browser, token_of(link), SCRIPT, 410)


@pytest.mark.promise(33)
def test_a_link_that_is_used_after_it_was_read_is_refused(browser, site, ada, monkeypatch):
    def use_first(proof, secret):
        assert prove_address(proof, secret)
        return prove_address(proof, secret)

    monkeypatch.setattr("wsgiauth.features.links.verify.prove_address", use_first)
    for email in (NEW, NEW):  # the second time, it is the present address
        send(browser, token_of(link_for(User.get_by_id(ada.id), email, site)), SCRIPT, 410)
        assert address_of(ada) == (NEW, True)


@pytest.mark.every_database
def test_an_address_that_was_taken_meanwhile_leaves_the_link_usable(
    browser, token, ada, grace, settings
):
    update_user(grace, email=NEW.upper())
    refused = send(browser, token, SCRIPT, 409)
    assert refused.json["errors"] == {"email": ["This email address is taken."]}
    page = browser.post("/auth/verify", {"token": token}, headers=SAME_ORIGIN, status=409)
    assert page.html.find(role="alert").text == "This email address is taken."
    assert address_of(ada) == (EMAIL, False)
    delete_user(grace)
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert address_of(ada) == (NEW, True)


@pytest.fixture
def heard(site):
    told = []
    events.subscribe(site.database, [told.append])
    return told


def test_a_proof_is_an_event_which_says_whether_the_address_is_another_one(
    site, browser, token, ada, heard
):
    send(browser, token, SCRIPT, 200)
    send(browser, token_of(link_for(User.get_by_id(ada.id), NEW, site)), SCRIPT, 200)
    changes = [event.reason for event in heard if event.name == "names_changed"]
    assert changes == ["email", "email verified"]


# Races


def verify(url, number=None):
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url, **MAIL)
    site = AuthMiddleware(echo, settings, send_mail=Post())
    username, secret = (USERNAME, "s") if number is None else (f"user{number}", str(number))
    headers = bearer_at(site, User.get(User.username == username))
    meet()
    return send(TestApp(site), secret * 43, headers).status_int


@pytest.mark.every_database
@pytest.mark.promise(33)
@pytest.mark.parametrize("email", [NEW, EMAIL], ids=["new", "present"])
def test_of_eight_processes_that_use_one_link_one_does(
    in_processes, email, ada, settings, site, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("secrets.token_urlsafe", lambda _: "s" * 43)
        link_for(ada, email, site)
    assert sorted(in_processes(verify, settings.DATABASE_URL)) == [200] + [410] * 7
    assert address_of(ada) == (email, True)


@pytest.mark.every_database
@pytest.mark.promise(25)
@pytest.mark.promise(39)
def test_of_eight_users_who_prove_one_address_one_gets_it(
    in_processes, settings, site, monkeypatch
):
    for number in range(8):
        user = create_user(f"user{number}", f"{number}@example.org", PASSWORD, settings=settings)
        with monkeypatch.context() as patch:
            patch.setattr("secrets.token_urlsafe", lambda _, each=str(number): each * 43)
            link_for(user, NEW, site)
    statuses = in_processes(verify, settings.DATABASE_URL, range(8))
    assert sorted(statuses) == [200] + [409] * 7
    assert User.select().where(User.email == NEW).count() == 1
    assert OneTimeSecret.select().count() == 7


def test_a_mail_leads_to_the_page(settings, ada):
    post = Post()
    site = AuthMiddleware(echo, with_mail(settings), send_mail=post)
    browser = logged_in(site, User.get())
    headers = {**SCRIPT, "Host": "localhost:80", "X-Forwarded-Host": "evil.example"}
    browser.post_json("/auth/email", {"email": NEW}, headers=headers, status=202)
    site.site.outbox.stop()
    site.site.outbox.deliver()
    assert post.recipients == [NEW]
    link = next(each for each in post.links if "token" in each)
    page = browser.get(link.removeprefix(ROOT), headers=BROWSER)
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert address_of(ada) == (NEW, True)
