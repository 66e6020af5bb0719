"""GET and POST /auth/restore, from the notice to the former address to the restored one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.identities import ENTRY
from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, User, change_password, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.testing import logged_in

NEW_EMAIL = "grace@example.net"
IN_PART = "g…@example.net"
ROOT = MAIL["PUBLIC_URL"]
DAYS_AGO = datetime.now(UTC).replace(microsecond=0) - timedelta(days=30)
SCRIPT = {**SAME_ORIGIN, "Accept": "application/json"}


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def changes():
    """Return the settings that a test changes."""
    return {"FACTOR_KEY": FACTOR_KEY}


@pytest.fixture
def site(settings, post, changes, unsent):
    made = AuthMiddleware(echo, replace(with_mail(settings), **changes), send_mail=post)
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def ada(site, ada):
    """Return Ada, whose address has been proven for a month."""
    update_user(ada, email_verified_at=DAYS_AGO, email_verified_by=PROVEN_BY_LINK)
    return ada


@pytest.fixture
def links(site, post):
    """Return a function that returns the links to /auth/restore in due emails, by recipient."""

    def sent():
        post.messages.clear()
        site.site.outbox.deliver()
        return [
            (message["To"], word.removeprefix(ROOT))
            for message in post.messages
            for word in plain_text_of(message).split()
            if "/restore?token=" in word
        ]

    return sent


def steal(user, email=NEW_EMAIL):
    """Change the address of a user to one that the thief has proven."""
    update_user(User.get_by_id(user.id), email=email, email_verified_at=datetime.now(UTC))


@pytest.fixture
def link(ada, links):
    """Return the path in the email to the former address of Ada."""
    steal(ada)
    ((recipient, path),) = links()
    assert recipient == EMAIL
    return path


@pytest.fixture
def token(link):
    return link.partition("=")[2]


def address_of(user):
    stored = User.get_by_id(user.id)
    return stored.email, stored.email_verified_at is not None


def send(client, token, status="*"):
    return client.post_json("/auth/restore", {"token": token}, status=status)


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_the_former_address_is_restored_with_one_button(client, site, ada, link):
    thief = logged_in(site, ada)
    page = client.get(link, headers=BROWSER)
    page.mustcontain(EMAIL, IN_PART, USERNAME, no=NEW_EMAIL)
    assert len(page.html.main.select("button")) == 1
    assert address_of(ada) == (NEW_EMAIL, True)
    done = page.form.submit(headers=SAME_ORIGIN, status=200)
    assert done.html.h1.text == "Email address restored"
    assert [each["href"] for each in done.html.select("a.button")] == [
        "/auth/forgot",
        "/auth/login",
    ]
    assert address_of(ada) == (EMAIL, True)
    assert "Set-Cookie" not in done.headers or "wsgiauth=" not in done.headers["Set-Cookie"]
    thief.get("/auth/account", headers={"Accept": "application/json"}, status=401)


@pytest.mark.parametrize("changes", [{"USERNAMES": False}])
def test_the_former_mailbox_never_learns_the_new_address(client, link, post):
    page = client.get(link, headers=BROWSER)
    page.mustcontain(EMAIL, IN_PART, no=NEW_EMAIL)
    page.form.submit(headers=SAME_ORIGIN, status=200).mustcontain(EMAIL, no=NEW_EMAIL)
    (to_former,) = (each for each in post.messages if each["To"] == EMAIL)
    assert NEW_EMAIL not in plain_text_of(to_former)


@pytest.mark.promise(87)
def test_a_link_works_once(client, ada, link, token):
    assert "restored" in send(client, token, 200).json["detail"]
    assert send(client, token, 410).json["code"] == "link_expired"
    expired = client.get(link, headers=BROWSER, status=410)
    expired.mustcontain("/auth/login", "/auth/forgot")


@pytest.mark.promise(33)
@pytest.mark.promise(87)
def test_get_and_head_change_nothing(client, ada, link):
    for _ in range(2):
        client.get(link, headers=BROWSER, status=200)
        client.head(link, headers=BROWSER, status=200)
    assert address_of(ada) == (NEW_EMAIL, True)
    assert OneTimeSecret.select().where(OneTimeSecret.data != "").count() == 1


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_a_chain_of_changes_is_undone_by_the_link_to_the_first_address(
    client, settings, ada, token, links
):
    steal(ada, "again@example.net")
    change_password(User.get_by_id(ada.id), "the words of a thief", settings=settings)
    assert links() == []  # not even for the address that the thief proved
    send(client, token, 200)
    assert address_of(ada) == (EMAIL, True)
    assert links() == []


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_a_thief_who_knows_the_password_is_undone_again(client, ada, token, links):
    send(client, token, 200)
    links()
    steal(ada)
    ((recipient, path),) = links()
    assert recipient == EMAIL
    send(client, path.partition("=")[2], 200)
    assert address_of(ada) == (EMAIL, True)


@pytest.mark.promise(87)
def test_second_factors_stay(client, site, ada, links):
    add_app(site, ada)
    steal(ada)
    ((_, path),) = links()
    send(client, path.partition("=")[2], 200)
    assert site.site.factors.is_needed_by(User.get_by_id(ada.id))


@pytest.mark.promise(87)
def test_an_address_that_another_account_has_is_freed_first(client, settings, ada, link):
    stranger = create_user("stranger", EMAIL, PASSWORD, settings=settings)
    page = client.get(link, headers=BROWSER)
    page.mustcontain("Another account has your former address", "/auth/forgot")
    assert page.html.main.select("button") == []
    fields = {"token": link.partition("=")[2]}
    refused = client.post("/auth/restore", fields, headers=SAME_ORIGIN | BROWSER, status=409)
    refused.mustcontain("Another account has your former address")
    answer = client.post("/auth/restore", fields, headers=SCRIPT, status=409)
    assert answer.json["code"] == "taken"
    update_user(stranger, email="stranger@example.net")
    client.get(link, headers=BROWSER).form.submit(headers=SAME_ORIGIN, status=200)
    assert address_of(ada) == (EMAIL, True)


def test_a_link_that_is_used_by_another_client_meanwhile_is_refused(
    client, ada, token, monkeypatch
):
    monkeypatch.setattr("wsgiauth.authentication.one_time.use", lambda row: False)
    assert send(client, token, 410).json["code"] == "link_expired"
    assert address_of(ada) == (NEW_EMAIL, True)


@pytest.mark.promise(17)
def test_another_site_cannot_send_the_form(client, ada, token):
    headers = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/restore", {"token": token}, headers=headers, status=403)
    assert address_of(ada) == (NEW_EMAIL, True)


class TestWithoutPasswords:
    @pytest.fixture
    def changes(self):
        return {"PASSWORD_LOGIN": False, "OIDC_PROVIDERS": (ENTRY,)}

    def test_the_next_step_is_a_login(self, client, ada, link, post):
        assert "Then log in, and remove" in " ".join(
            " ".join(plain_text_of(each).split()) for each in post.messages
        )
        done = client.get(link, headers=BROWSER).form.submit(headers=SAME_ORIGIN, status=200)
        assert [each["href"] for each in done.html.select("a.button")] == ["/auth/login"]
        expired = client.get(link, headers=BROWSER, status=410)
        assert "/auth/forgot" not in expired.text

    def test_a_taken_address_is_freed_by_the_administrators(self, client, settings, ada, link):
        create_user("stranger", EMAIL, PASSWORD, settings=settings)
        page = client.get(link, headers=BROWSER)
        page.mustcontain("Ask the administrators", no="/auth/forgot")


def test_without_mail_there_is_no_such_page(settings):
    site = AuthMiddleware(echo, replace(settings, PUBLIC_URL=ROOT))
    TestApp(site).get("/auth/restore", headers=BROWSER, status=404)
    storage.discard_connection(site.database)
