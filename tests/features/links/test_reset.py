"""GET and POST /auth/reset."""

import dataclasses
import time
from datetime import UTC, datetime
from urllib.parse import urlsplit

import bcrypt
import pytest
from webtest import TestApp

from tests.support.authenticators import Authenticator, add_passkey
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.federated import remove_password
from tests.support.identities import account
from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import (
    BROWSER,
    EMAIL,
    PASSWORD,
    SAME_ORIGIN,
    SECRET_KEY,
    USERNAME,
    echo,
)
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, Settings, change_password, storage
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK, PROVEN_BY_OPERATOR, User
from wsgiauth.authentication import one_time
from wsgiauth.authentication.password import (
    make_printed_reset_link,
    make_reset_link,
)
from wsgiauth.cli import main
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import factors, recovery_codes, totp
from wsgiauth.features.factors.passkeys import list_passkeys
from wsgiauth.features.providers import identities
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing import logged_in

NEW_PASSWORD = "other unrelated birds"
ROOT = MAIL["PUBLIC_URL"]


@pytest.fixture
def site(settings):
    made = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    yield made
    made.site.outbox.stop()
    for each in (made.database, storage.current()):  # a command opens another one
        storage.discard_connection(each)


@pytest.fixture
def link(site, ada):
    """Return the path of a link for Ada."""
    url = make_reset_link(ada, site.site.settings, mount="/auth", now=time.time())
    assert url.startswith(f"{ROOT}/auth/reset?token=")
    return url.removeprefix(ROOT)


@pytest.fixture
def token(link):
    return link.partition("=")[2]


def send(client, token, password=NEW_PASSWORD, status="*"):
    return client.post_json("/auth/reset", {"token": token, "password": password}, status=status)


def can_log_in(client, password):
    credentials = {"username": USERNAME, "password": password}
    return client.post_json("/auth/login", credentials, status="*").status_int == 200


@pytest.mark.every_database
@pytest.mark.promise(36)
def test_a_program_sets_a_new_password_and_is_not_logged_in(client, token):
    done = send(client, token, status=200)
    assert done.json == {"detail": "Password changed. Log in with the new one."}
    assert "Set-Cookie" not in done.headers
    assert (can_log_in(client, PASSWORD), can_log_in(client, NEW_PASSWORD)) == (False, True)


@pytest.mark.every_database
@pytest.mark.promise(36)
def test_a_browser_sets_a_new_password_and_is_sent_to_the_login_with_the_username(
    client, link, ada
):
    ada.username = 'Ada"&lt;'
    ada.save()
    page = client.get(link, headers=BROWSER)
    assert ada.username in page.html.main.text
    assert len(page.html.find_all("button", type="submit")) == 1
    page.form["password"] = NEW_PASSWORD
    done = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert done.location.startswith("/auth/login?done=reset")
    assert "Ada%22" not in done.location
    assert "wsgiauth" not in client.cookies
    for _ in range(2):  # also after a reload
        login = client.get(done.location, headers=BROWSER)
        notice = login.html.select_one("[role=status]").text
        assert notice.startswith("Your password has been changed")
        assert login.form["username"].value == 'Ada"&lt;'
        assert login.html.select_one("[autofocus]")["name"] == "password"
    assert client.get("/auth/login", headers=BROWSER).form["username"].value == ""
    login.form["password"] = NEW_PASSWORD
    login.form.submit(headers=SAME_ORIGIN, status=303)
    client.get("/auth/me", status=200)


# The first proof of the address


@pytest.fixture
def factors_site(settings, post, unsent):
    made = AuthMiddleware(
        echo, with_mail(settings, FACTOR_KEY=FACTOR_KEY, PASSKEYS=True), send_mail=post
    )
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def with_factors(factors_site, ada):
    """Return Ada, who has an app, a passkey and recovery codes."""
    add_app(factors_site, ada)
    browser = Authenticator()
    browser.origin, browser.host = ROOT, urlsplit(ROOT).hostname
    add_passkey(factors_site, ada, authenticator=browser)
    recovery_codes.replace(ada, rounds=4)
    Mail.delete().execute()
    return ada


def factors_of(user):
    """Return how many apps, passkeys and recovery codes a user has."""
    return len(totp.devices(user)), len(list_passkeys(user)), recovery_codes.count(user)


def is_verified(user):
    return User.get_by_id(user.id).email_verified_at is not None


def prove(user, proof):
    update_user(user, email_verified_at=datetime.now(UTC), email_verified_by=proof)


# What has proven the address, if it is not a link of this site.
VOUCHED = {"provider": "https://accounts.example.com", "unknown": ""}


def test_the_page_says_whether_factors_will_be_removed(factors_site, with_factors):
    client, settings = TestApp(factors_site), factors_site.site.settings
    for proof, is_said in (
        (None, True),
        (PROVEN_BY_LINK, False),
        (PROVEN_BY_OPERATOR, False),
        *((each, True) for each in VOUCHED.values()),
    ):
        if proof is not None:
            prove(with_factors, proof)
        link = make_reset_link(with_factors, settings, mount="/auth", now=time.time())
        page = client.get(link.removeprefix(ROOT))
        assert ("removes the passkeys" in page) is is_said, proof


@pytest.mark.every_database
@pytest.mark.promise(36)
def test_the_first_proof_of_the_address_removes_what_a_stranger_may_have_set_up(
    factors_site, with_factors, post
):
    client = TestApp(factors_site)
    link = make_reset_link(with_factors, factors_site.site.settings, mount="/auth", now=time.time())
    RecordedEvent.delete().execute()
    send(client, link.partition("=")[2], status=200)
    assert factors_of(with_factors) == (0, 0, 0)
    assert is_verified(with_factors)
    rows = RecordedEvent.select(RecordedEvent.name, RecordedEvent.reason, RecordedEvent.actor)
    actor = f"user {with_factors.id}"
    assert list(rows.order_by(RecordedEvent.id).tuples()) == [
        ("names_changed", "email verified", actor),
        ("factor_removed", "otp", actor),
        ("factor_removed", "passkey", actor),
        ("password_changed", None, actor),
    ]
    factors_site.site.outbox.deliver()
    subjects = sorted(message["Subject"] for message in post.messages)
    removed = "Two-step verification method removed at example.org"
    assert subjects == [removed, removed, "Your password for example.org was changed"]
    assert {USERNAME in plain_text_of(message) for message in post.messages} == {True}
    assert can_log_in(client, NEW_PASSWORD)


@pytest.mark.every_database
@pytest.mark.promise(36)
@pytest.mark.parametrize("proof", VOUCHED.values(), ids=VOUCHED)
def test_a_first_link_also_removes_what_is_there_if_only_a_provider_has_verified_the_address(
    factors_site, with_factors, proof
):
    prove(with_factors, proof)
    identities.connect(User.get(), account(), time.time())
    for left in ((0, 0, 0), (1, 0, 0)):
        client, settings = TestApp(factors_site), factors_site.site.settings
        link = make_reset_link(User.get(), settings, mount="/auth", now=time.time())
        send(client, link.partition("=")[2], status=200)
        assert (factors_of(with_factors), identities.rows_of(with_factors)) == (left, [])
        if left == (0, 0, 0):  # the next link finds the address proven
            add_app(factors_site, with_factors)


@pytest.mark.promise(36)
def test_recovery_codes_without_a_factor_are_removed_as_well(factors_site, with_factors):
    factors.remove(with_factors)
    recovery_codes.replace(with_factors, rounds=4)
    link = make_reset_link(with_factors, factors_site.site.settings, mount="/auth", now=time.time())
    send(TestApp(factors_site), link.partition("=")[2], status=200)
    assert factors_of(with_factors) == (0, 0, 0)


@pytest.mark.promise(36)
def test_the_factors_of_an_owner_who_reads_the_mails_stay(factors_site, with_factors):
    client, settings = TestApp(factors_site), factors_site.site.settings
    for make, proof in (
        (make_printed_reset_link, None),  # an operator's link
        (make_reset_link, PROVEN_BY_LINK),
        (make_reset_link, PROVEN_BY_OPERATOR),
    ):
        if proof is not None:
            prove(with_factors, proof)
        link = make(User.get(), settings, mount="/auth", now=time.time())
        send(client, link.partition("=")[2], status=200)
        assert factors_of(with_factors) == (1, 1, 10), proof
        assert is_verified(with_factors) is (proof is not None)
    assert not can_log_in(client, NEW_PASSWORD)  # without a code


# While strangers guess


def fail_as_strangers(site):
    """Use up what strangers can fail under Ada's names, each at an address of its own.

    The throttle's clock stands still from then on: on a busy machine, its waits would end.
    """
    now = time.time()
    site.site.throttle._now = lambda: now
    for number in range(20):
        client = TestApp(site, extra_environ={"REMOTE_ADDR": f"198.51.100.{number}"})
        for name in (USERNAME, EMAIL):
            client.post_json(
                "/auth/login", {"username": name, "password": "wrong words"}, status="*"
            )


def status_of_login(client, name=USERNAME):
    credentials = {"username": name, "password": NEW_PASSWORD}
    return client.post_json("/auth/login", credentials, status="*").status_int


@pytest.mark.every_database
@pytest.mark.promise(12)
def test_who_chose_the_password_by_a_link_does_not_wait_with_those_who_guess(site, token):
    owner = TestApp(site, extra_environ={"REMOTE_ADDR": "203.0.113.1"})
    fail_as_strangers(site)
    assert status_of_login(owner) == 429
    send(owner, token, status=200)
    assert [status_of_login(owner, name) for name in (USERNAME, EMAIL)] == [200, 200]
    elsewhere = TestApp(site, extra_environ={"REMOTE_ADDR": "203.0.113.2"})
    assert status_of_login(elsewhere) == 429


@pytest.mark.promise(12)
@pytest.mark.parametrize(
    ("proof", "status"),
    [
        pytest.param(PROVEN_BY_LINK, 429, id="which stay"),
        pytest.param(None, 200, id="which the first proof removes"),
    ],
)
def test_a_link_alone_makes_no_client_known_to_a_user_with_second_factors(
    factors_site, with_factors, proof, status
):
    if proof is not None:
        prove(with_factors, proof)
    link = make_reset_link(with_factors, factors_site.site.settings, mount="/auth", now=time.time())
    owner = TestApp(factors_site, extra_environ={"REMOTE_ADDR": "203.0.113.1"})
    send(owner, link.partition("=")[2], status=200)
    fail_as_strangers(factors_site)
    assert status_of_login(owner) == status


@pytest.mark.promise(12)
def test_a_link_that_is_opened_or_refused_makes_no_client_known(site, link, token):
    owner = TestApp(site, extra_environ={"REMOTE_ADDR": "203.0.113.1"})
    owner.get(link, headers=BROWSER, status=200)
    send(owner, token, "short", status=422)
    fail_as_strangers(site)
    assert status_of_login(owner) == 429


@pytest.mark.promise(33)
@pytest.mark.promise(36)
def test_a_link_that_is_opened_or_refused_removes_no_factor(factors_site, with_factors):
    client = TestApp(factors_site)
    link = make_reset_link(with_factors, factors_site.site.settings, mount="/auth", now=time.time())
    client.get(link.removeprefix(ROOT), headers=BROWSER, status=200)
    send(client, link.partition("=")[2], "short", status=422)
    assert factors_of(with_factors) == (1, 1, 10)
    assert not is_verified(with_factors)


@pytest.mark.promise(31)
def test_every_login_of_the_user_ends(site, client, token, ada):
    browsers = [logged_in(site, ada) for _ in range(2)]
    send(client, token, status=200)
    for browser in browsers:
        browser.get("/auth/me", status=401)


@pytest.mark.every_database
@pytest.mark.promise(17)
@pytest.mark.promise(33)
@pytest.mark.promise(35)
def test_a_link_works_once_and_get_head_and_another_site_do_not_use_it(
    client, link, token, queries
):
    answers = []
    for _ in range(3):
        sent = queries(lambda: answers.append(client.get(link, headers=BROWSER, status=200)))
        assert {each.lstrip()[:6] for each in sent} == {"SELECT"}
        client.head(link, headers=BROWSER, status=200)
    fields = {"token": token, "password": NEW_PASSWORD}
    cross_site = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/reset", fields, headers=cross_site, status=403)
    answers += [send(client, token, "short", 422), send(client, token, status=200)]
    refused = send(client, token, status=410)
    assert refused.json["code"] == "link_expired"
    pages = [
        client.get(link, headers=BROWSER, status=410),
        client.post("/auth/reset", fields, headers=SAME_ORIGIN, status=410),
    ]
    for page in pages:
        page.mustcontain("This link can no longer be used")
    # No answer lets the browser send the address on.
    policies = {each.headers["Referrer-Policy"] for each in (*answers, refused, *pages)}
    assert policies == {"strict-origin"}


def test_an_expired_link_says_where_there_is_another(client, settings):
    asked = "Ask for a new one."
    assert send(client, "x", status=410).json["detail"].endswith(asked)
    page = client.get("/auth/reset?token=x", headers=BROWSER, status=410)
    assert page.click("Ask for a new link").html.find(autofocus=True)["name"] == "username"
    without_mail = dataclasses.replace(settings, PUBLIC_URL=ROOT)
    client = TestApp(AuthMiddleware(echo, without_mail))
    page = client.get("/auth/reset?token=x", headers=BROWSER, status=410)
    page.mustcontain("Ask the administrators of this site for a new one.", no=[asked])


@pytest.mark.promise(35)
def test_what_is_no_token_is_refused(client):
    for token in ("", "x", "x" * 5000, "\U0001f600", "\0"):
        send(client, token, status=410)
        client.get("/auth/reset", {"token": token.encode()}, headers=BROWSER, status=410)
    client.get("/auth/reset", headers=BROWSER, status=410)


@row_by_row("path", ["reset", "restore", "verify"])
@row_by_row("accept", ["*/*", "application/json"])
def test_a_link_opens_a_page_whatever_accept_says(client, path, accept):
    url = f"/auth/{path}?token=x"
    assert client.get(url, headers={"Accept": accept}, status=410).content_type == "text/html"
    assert client.head(url, headers={"Accept": accept}, status=410).content_type == "text/html"


@pytest.mark.promise(35)
def test_a_secret_of_another_purpose_or_from_before_link_minutes_is_refused(client, site, ada):
    secret = one_time.issue("email", ada, now=time.time(), lifetime=60)
    send(client, secret, status=410)
    link = make_reset_link(ada, site.site.settings, mount="/auth", now=time.time() - 3600)
    send(client, link.partition("=")[2], status=410)


ENDS = {
    "password": lambda ada, settings: change_password(ada, "third bird song", settings=settings),
    "deactivation": lambda ada, settings: update_user(ada, is_active=False),
    "new address": lambda ada, settings: update_user(ada, email="new@example.org"),
    "deletion": lambda ada, settings: delete_user(ada),
}


@pytest.mark.promise(35)
def test_a_link_ends_with_a_change_of_the_user(client, site, ada, settings):
    for end in ENDS.values():
        user = User.get_by_id(ada.id)
        update_user(user, is_active=True)
        link = make_reset_link(user, site.site.settings, mount="/auth", now=time.time())
        client.get(link.removeprefix(ROOT), status=200)
        end(user, settings)
        client.get(link.removeprefix(ROOT), status=410)
        send(client, link.partition("=")[2], status=410)


@pytest.mark.promise(33)
def test_a_link_that_is_used_while_the_password_is_hashed_is_refused(
    client, site, ada, monkeypatch
):
    compute = bcrypt.hashpw
    for headers in ({}, BROWSER):
        link = make_reset_link(ada, site.site.settings, mount="/auth", now=time.time())
        token = link.partition("=")[2]

        def use_and_compute(*arguments, token=token):
            assert one_time.redeem(token, "reset", now=time.time())
            return compute(*arguments)

        monkeypatch.setattr(bcrypt, "hashpw", use_and_compute)
        fields = {"token": token, "password": NEW_PASSWORD}
        client.post("/auth/reset", fields, headers=SAME_ORIGIN | headers, status=410)
    monkeypatch.undo()
    assert can_log_in(client, PASSWORD)


def test_a_password_that_breaks_a_rule_leaves_the_link_usable(client, token):
    for password in ("short", USERNAME):
        refused = send(client, token, password, 422)
        assert refused.json["errors"].keys() == {"password"}, password
        fields = {"token": token, "password": password}
        page = client.post("/auth/reset", fields, headers=SAME_ORIGIN, status=422)
    page.form["password"] = NEW_PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)


@pytest.mark.promise(34)
def test_no_header_changes_where_a_link_leads(settings, ada):
    post = Post()
    site = AuthMiddleware(echo, with_mail(settings), send_mail=post)
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=e"}
    TestApp(site).post_json("/auth/forgot", {"username": USERNAME}, headers=headers)
    site.site.outbox.stop()
    site.site.outbox.deliver()
    (link,) = post.links
    assert link.startswith(f"{ROOT}/auth/reset?token=")
    assert "evil" not in post.messages[0].as_string()


def test_links_of_a_site_below_a_path_lead_there(site, ada, settings):
    below = with_mail(settings, PUBLIC_URL="https://example.org/shop/")
    link = make_reset_link(ada, below, mount="/accounts", now=0)
    assert link.startswith("https://example.org/shop/accounts/reset?token=")


# Races


def reset(url):
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url, **MAIL)
    client = TestApp(AuthMiddleware(echo, settings, send_mail=Post()))
    return send(client, "s" * 43).status_int


@pytest.mark.every_database
@pytest.mark.promise(33)
def test_of_eight_processes_that_use_one_link_one_does(
    in_processes, ada, settings, site, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("secrets.token_urlsafe", lambda _: "s" * 43)
        make_reset_link(ada, site.site.settings, mount="/auth", now=time.time())
    assert sorted(in_processes(reset, settings.DATABASE_URL)) == [200] + [410] * 7


# The command


@pytest.fixture
def command(settings, monkeypatch, capsys):
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    monkeypatch.setenv("PUBLIC_URL", f"{ROOT}/shop")

    def run(*argv):
        status = main(["resetlink", *argv])
        return status, *capsys.readouterr()

    return run


def test_an_operator_prints_a_link_that_works_without_mail(command, ada, settings):
    status, link, _ = command("ada")
    assert status == 0
    assert link.startswith(f"{ROOT}/shop/auth/reset?token=")
    (row,) = RecordedEvent.select().where(RecordedEvent.name == "link_sent")
    assert (row.user_id, row.actor, row.reason) == (ada.id, "command line", "reset, printed")
    site = AuthMiddleware(echo, with_mail(settings, MAIL_URL=None, MAIL_FROM=None))
    send(TestApp(site), link.strip().partition("=")[2], status=200)
    TestApp(site).get("/auth/forgot", status=404)
    assert "/shop/accounts/reset?" in command("ada", "--mount", "/accounts")[1]


def test_there_is_no_link_for_others(command, ada, monkeypatch):
    assert command("nobody")[0] == 1
    update_user(ada, is_active=False)
    assert command("ada") == (1, "", "wsgiauth: Ada is inactive\n")
    monkeypatch.delenv("PUBLIC_URL")
    error = "wsgiauth: PUBLIC_URL must be set, because the link begins with it\n"
    assert command("ada") == (1, "", error)


def test_the_link_is_for_its_user(site, settings, ada, client):
    grace = create_user("Grace", f"x{EMAIL}", PASSWORD, settings=settings)
    link = make_reset_link(grace, site.site.settings, mount="/auth", now=time.time())
    send(client, link.partition("=")[2], status=200)
    assert can_log_in(client, PASSWORD)


def test_a_user_without_a_password_gets_one_by_a_link(client, ada, site):
    user = remove_password(ada)
    path = make_reset_link(user, site.site.settings, mount="/auth", now=time.time())
    page = client.get(path.removeprefix(ROOT), headers=BROWSER)
    page.mustcontain("It has no password yet.")
    page.form["password"] = NEW_PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert can_log_in(client, NEW_PASSWORD)
