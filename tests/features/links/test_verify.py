"""GET and POST /auth/verify: the link of an invitation creates the account."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import bcrypt
import pytest
from webtest import TestApp

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
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.features.links.invitations import HOURS, Invitation
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.testing import logged_in

ROOT = MAIL["PUBLIC_URL"]
ADA = Invitation(email=EMAIL, username=USERNAME, is_requested=True)


@pytest.fixture
def site(settings):
    made = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    yield made
    storage.discard_connection(storage.current())


@pytest.fixture
def make_link(site):
    """Return a function that returns the path of a link."""

    def make(invitation=ADA, now=None):
        now = time.time() if now is None else now
        url = issue_invitation(invitation, None, site.site.settings, mount="/auth", now=now)
        assert url.startswith(f"{ROOT}/auth/verify?token=")
        return url.removeprefix(ROOT)

    return make


@pytest.fixture
def link(make_link):
    return make_link()


@pytest.fixture
def token(link):
    return token_of(link)


def token_of(link):
    return link.partition("=")[2]


def send(client, token, password=PASSWORD, status="*", **fields):
    body = {"token": token, "password": password, **fields}
    return client.post_json("/auth/verify", body, status=status)


def send_form(client, token, password=PASSWORD, status="*", **fields):
    body = {"token": token, "password": password, **fields}
    return client.post("/auth/verify", body, headers=SAME_ORIGIN, status=status)


@pytest.mark.every_database
@pytest.mark.promise(37)
def test_a_program_creates_the_account_and_is_not_logged_in(client, token):
    assert User.select().count() == 0
    further = {"email": "x@example.org", "is_staff": True, "permissions": ["a.b"]}
    done = send(client, token, status=201, **further)
    assert (done.json["username"], done.json["email"]) == (USERNAME, EMAIL)
    assert (done.json["is_staff"], done.json["permissions"]) == (False, [])
    assert done.location == "/auth/me"
    assert "Set-Cookie" not in done.headers
    credentials = {"username": EMAIL, "password": PASSWORD}
    client.post_json("/auth/login", credentials, status=200)


@pytest.mark.every_database
@pytest.mark.promise(37)
def test_a_browser_creates_the_account_and_is_logged_in(client, link):
    page = client.get(link, headers=BROWSER)
    assert EMAIL in page
    assert USERNAME in page
    assert "close this page" in page
    assert len(page.html.find_all("button", type="submit")) == 1
    page.form["password"] = PASSWORD
    done = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert done.location == "/"
    assert client.get("/auth/me").json["username"] == USERNAME


def test_a_script_creates_the_account_and_is_logged_in(client, token):
    fields = {"token": token, "password": PASSWORD}
    headers = {**SAME_ORIGIN, "Accept": "application/json"}
    done = client.post("/auth/verify", fields, headers=headers, status=201)
    assert done.json["username"] == USERNAME
    assert client.get("/auth/me").json["username"] == USERNAME


def test_the_link_of_a_stranger_replaces_no_login(site, make_link, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    browser = logged_in(site, grace)
    for username, accept, location in (
        ("Joan", BROWSER["Accept"], "/auth/login"),
        ("Lin", "application/json", "/auth/me"),
    ):
        invitation = Invitation(email=f"{username}@example.org", username=username)
        fields = {"token": token_of(make_link(invitation)), "password": PASSWORD}
        headers = {**SAME_ORIGIN, "Accept": accept}
        done = browser.post("/auth/verify", fields, headers=headers)
        assert "Set-Cookie" not in done.headers
        assert done.location == location
        assert User.get_or_none(User.username == username) is not None
        assert browser.get("/auth/me").json["username"] == "Grace"


@pytest.mark.every_database
def test_the_account_is_as_invited_and_its_address_is_proven(client, make_link):
    invitation = Invitation(
        email=EMAIL, username=USERNAME, is_staff=True, permissions=("reports.publish", "reports.x")
    )
    done = send(client, token_of(make_link(invitation)), status=201)
    user = User.get_by_id(done.json["id"])
    assert (user.is_staff, user.is_superuser, user.is_active) == (True, False, True)
    assert user.permissions == {"reports.publish", "reports.x"}
    assert user.email_verified_at >= user.created_at - timedelta(seconds=1)  # read after it


@pytest.mark.every_database
@pytest.mark.promise(17)
@pytest.mark.promise(33)
@pytest.mark.promise(35)
@pytest.mark.promise(54)
def test_a_link_works_once_and_get_head_and_another_site_do_not_use_it(
    client, link, token, queries
):
    answers = []
    for _ in range(3):
        sent = queries(lambda: answers.append(client.get(link, headers=BROWSER, status=200)))
        assert {each.lstrip()[:6] for each in sent} == {"SELECT"}
        client.head(link, headers=BROWSER, status=200)
    fields = {"token": token, "password": PASSWORD}
    cross_site = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/verify", fields, headers=cross_site, status=403)
    row = OneTimeSecret.get()
    assert token not in f"{row.id}{row.data}"
    answers += [send(client, token, "short", 422), send(client, token, status=201)]
    refused = send(client, token, status=410)
    assert refused.json["code"] == "link_expired"
    pages = [client.get(link, headers=BROWSER, status=410), send_form(client, token, status=410)]
    for page in pages:
        page.mustcontain("This link can no longer be used")
    # No answer lets the browser send the address on.
    policies = {each.headers["Referrer-Policy"] for each in (*answers, refused, *pages)}
    assert policies == {"strict-origin"}


@pytest.mark.parametrize(
    ("options", "links"),
    [
        pytest.param({"VERIFICATION": False}, ["Verify an email address"], id="mail"),
        pytest.param(
            {"VERIFICATION": True},
            ["Verify an email address", "Create an account"],
            id="verification",
        ),
        pytest.param({"MAIL_URL": None}, [], id="no mail"),
    ],
)
def test_a_dead_link_leads_to_the_pages_that_can_send_another(settings, options, links):
    made = replace(with_mail(settings), **options)
    site = AuthMiddleware(echo, made, send_mail=Post() if made.MAIL_URL else None)
    client = TestApp(site, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]})
    page = client.get("/auth/verify?token=x", status=410)
    login, *found, home = (each.text for each in page.html.main.find_all("a"))
    assert (login, found, home) == ("Log in", links, "Go to the home page")
    page.mustcontain("If someone invited you, ask that person")
    for text in ("Log in", *links):
        page.click(text)
    storage.discard_connection(site.database)


@pytest.mark.promise(35)
def test_what_is_no_token_is_refused(client):
    for token in ("", "x", "x" * 5000, "\U0001f600", "\0"):
        send(client, token, status=410)
        client.get("/auth/verify", {"token": token.encode()}, headers=BROWSER, status=410)
    client.get("/auth/verify", headers=BROWSER, status=410)


@pytest.mark.promise(35)
def test_a_secret_of_another_purpose_is_refused_here_and_this_one_there(client, ada, make_link):
    token = token_of(make_link(Invitation(email="grace@example.org", username="Grace")))
    reset = one_time.issue("reset", ada, now=time.time(), lifetime=60)
    send(client, reset, status=410)
    client.post_json("/auth/reset", {"token": token, "password": PASSWORD}, status=410)


@pytest.mark.promise(35)
@pytest.mark.parametrize("is_requested", [True, False], ids=["requested", "invited"])
def test_a_link_ends_with_its_time(is_requested, site, client, make_link):
    lifetime = site.site.settings.LINK_MINUTES * 60 if is_requested else HOURS * 3600
    invitation = Invitation(email=EMAIL, username=USERNAME, is_requested=is_requested)
    late = make_link(invitation, now=time.time() - lifetime)
    send(client, token_of(late), status=410)
    in_time = make_link(invitation, now=time.time() - lifetime + 60)
    send(client, token_of(in_time), status=201)


def test_a_password_or_name_that_breaks_a_rule_leaves_the_link_usable(client, token):
    for password in ("short", USERNAME, EMAIL):
        refused = send(client, token, password, 422)
        assert refused.json["errors"].keys() == {"password"}, password
        page = send_form(client, token, password, 422, username="Lovelace")
        assert page.form["username"].value == "Lovelace"
    page = send_form(client, token, username="a b", status=422)
    assert page.form["username"].value == "a b"
    assert "spaces" in page
    page.form["username"], page.form["password"] = USERNAME, PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)


@pytest.mark.every_database
def test_a_name_that_was_taken_meanwhile_leaves_the_link_usable(client, link, token, settings):
    create_user(USERNAME.upper(), "other@example.org", PASSWORD, settings=settings)
    refused = send(client, token, status=409)
    assert refused.json["code"] == "taken"
    assert refused.json["errors"].keys() == {"username"}
    page = client.get(link, headers=BROWSER)
    assert "This username is taken." in page
    page.form["password"] = PASSWORD
    again = page.form.submit(headers=SAME_ORIGIN, status=409)
    again.form["username"] = "Lovelace"
    again.form["password"] = PASSWORD
    again.form.submit(headers=SAME_ORIGIN, status=303)
    assert client.get("/auth/me").json["username"] == "Lovelace"


def test_a_taken_name_is_named_with_a_password_that_breaks_a_rule(client, link, token, settings):
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    fields = {"token": token, "username": "grace", "password": "short"}
    refused = client.post_json("/auth/verify", fields, status=422)
    assert refused.json["errors"].keys() == {"username", "password"}
    assert refused.json["errors"]["username"] == ["This username is taken."]


def test_without_a_name_the_user_chooses_one(client, make_link):
    link = make_link(Invitation(email=EMAIL))
    page = client.get(link, headers=BROWSER)
    page.form["password"] = PASSWORD
    page = page.form.submit(headers=SAME_ORIGIN, status=422)
    assert "Enter a username." in page
    page.form["username"] = "Lovelace"
    page.form["password"] = PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert User.get().username == "Lovelace"


@pytest.mark.promise(35)
def test_an_address_that_got_an_account_meanwhile_ends_the_link(client, link, token, settings):
    create_user("Other", EMAIL.upper(), PASSWORD, settings=settings)
    assert "has an account" in send(client, token, status=410).json["detail"]
    assert "has an account" in client.get(link, headers=BROWSER, status=410)
    assert "has an account" in send_form(client, token, status=410)
    assert User.select().count() == 1


@pytest.mark.every_database
@pytest.mark.promise(35)
def test_every_invitation_of_an_address_ends_with_the_first_that_is_used(client, make_link):
    links = [make_link(), make_link(Invitation(email=EMAIL.upper(), is_requested=True))]
    strangers = make_link(Invitation(email="grace@example.org", username="Grace"))
    send(client, token_of(links[0]), status=201)
    update_user(User.get(), email="new@example.org", username="Lovelace")
    send(client, token_of(links[1]), username="Third", status=410)
    send(client, token_of(strangers), status=201)


def test_an_operators_invitation_replaces_the_earlier_ones_and_a_strangers_request_does_not(
    client, make_link
):
    first = make_link(Invitation(email=EMAIL, username=USERNAME, is_staff=True))
    second = make_link(Invitation(email=EMAIL, username=USERNAME))
    make_link(ADA)
    send(client, token_of(first), status=410)
    assert send(client, token_of(second), status=201).json["is_staff"] is False


def test_names_cannot_be_tried_without_end(settings, make_link):
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    limited = with_mail(settings, REGISTRATIONS_PER_ADDRESS=2)
    client = TestApp(AuthMiddleware(echo, limited, send_mail=Post()))
    token = token_of(make_link())
    send(client, token, "short", status=422)  # says nothing of a name that was chosen
    send(client, token, username="Grace", status=409)
    send(client, token, "short", username="Grace", status=422)
    send(client, token, username="Grace", status=429)
    assert send_form(client, token, status=429).form["token"].value == token


@pytest.mark.promise(33)
def test_a_link_that_is_used_while_the_password_is_hashed_is_refused(
    client, make_link, monkeypatch
):
    compute = bcrypt.hashpw
    for headers in ({}, BROWSER):
        token = token_of(make_link())

        def use_and_compute(*arguments, token=token):
            assert one_time.redeem(token, "invitation", now=time.time())
            return compute(*arguments)

        monkeypatch.setattr(bcrypt, "hashpw", use_and_compute)
        fields = {"token": token, "password": PASSWORD}
        client.post("/auth/verify", fields, headers=SAME_ORIGIN | headers, status=410)
    assert User.select().count() == 0


def test_an_address_that_gets_an_account_while_the_password_is_hashed_ends_the_link(
    client, token, settings, monkeypatch
):
    compute = bcrypt.hashpw

    def create_and_compute(*arguments):
        monkeypatch.undo()
        create_user("Other", EMAIL, PASSWORD, settings=settings)
        return compute(*arguments)

    monkeypatch.setattr(bcrypt, "hashpw", create_and_compute)
    assert "has an account" in send(client, token, status=410).json["detail"]
    assert User.get().username == "Other"


def test_without_a_public_url_there_is_no_such_page(settings):
    client = TestApp(AuthMiddleware(echo, settings))
    client.get("/auth/verify?token=x", status=404)
    client.post_json("/auth/verify", {}, status=404)
    assert "/verify" not in client.get("/auth/openapi.json").json["paths"]


# Races


def verify(url):
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url, **MAIL)
    client = TestApp(AuthMiddleware(echo, settings, send_mail=Post()))
    return send(client, "0" * 43).status_int


@pytest.mark.every_database
@pytest.mark.promise(33)
def test_of_eight_processes_that_use_one_link_one_creates_the_account(
    in_processes, settings, make_link, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("secrets.token_urlsafe", lambda _: "0" * 43)
        make_link()
    assert sorted(in_processes(verify, settings.DATABASE_URL)) == [201] + [410] * 7
    assert [each.username for each in User.select()] == [USERNAME]


@pytest.mark.every_database
@pytest.mark.promise(33)
def test_of_eight_links_of_one_address_one_creates_an_account(settings, make_link):
    busy = with_mail(
        settings, HASHING_THREADS=8, HASHING_PER_ADDRESS=0, REGISTRATIONS_PER_ADDRESS=0
    )
    site = AuthMiddleware(echo, busy, send_mail=Post())
    links = [make_link() for _ in range(8)]
    together = threading.Barrier(len(links))

    def verify_as(number):
        try:
            together.wait(timeout=60)
            return send(TestApp(site), token_of(links[number]), username=f"Ada{number}").status_int
        finally:
            storage.discard_connection(site.database)

    with ThreadPoolExecutor(len(links)) as threads:
        statuses = sorted(threads.map(verify_as, range(len(links))))
    assert statuses == [201] + [410] * 7
    assert (User.select().count(), OneTimeSecret.select().count()) == (1, 0)
