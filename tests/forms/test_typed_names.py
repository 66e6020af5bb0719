"""Names with spaces and invisible characters around them, which phones and clipboards add."""

import pytest
from webtest import TestApp

from tests.support.mails import Post, with_mail
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import find_user
from wsgiauth.logins import authenticate
from wsgiauth.testing import logged_in

AROUND = (
    "{} ",
    "\t{}\u3000\n",
    "\u200b{}\u200e",  # zero-width space, mark
    "\ufeff{} \u200f \u2069",  # byte-order mark, isolate
)


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def site(settings, post, unsent):
    made = AuthMiddleware(echo, with_mail(settings), send_mail=post)
    yield made
    storage.discard_connection(made.database)


def test_a_registration_takes_the_names_alone(client):
    for number, around in enumerate(AROUND):
        names = {"username": f"Grace{number}", "email": f"grace{number}@example.org"}
        typed = {field: around.format(name) for field, name in names.items()}
        created = client.post_json("/auth/register", {**typed, "password": PASSWORD}, status=201)
        assert {field: created.json[field] for field in names} == names


def test_a_new_username_is_taken_alone(site, ada):
    page = logged_in(site, ada).get("/auth/username", headers=BROWSER)
    for number, around in enumerate(AROUND):
        page.form["username"] = around.format(f"Countess{number}")
        page.form.submit(headers=SAME_ORIGIN, status=303)
        assert find_user(f"Countess{number}") == ada


def test_a_new_address_gets_the_link(site, ada, post):
    page = logged_in(site, ada).get("/auth/email", headers=BROWSER)
    form = page.forms[1]
    form["email"] = AROUND[-1].format("new@example.org")
    form.submit(headers=SAME_ORIGIN, status=202)
    site.site.outbox.deliver()
    assert post.recipients == ["new@example.org"]


def test_a_login_of_the_application_finds_the_user(settings, ada):
    def login(environ, start_response):
        found = [str(authenticate(environ, each.format(USERNAME), PASSWORD)) for each in AROUND]
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [" ".join(found).encode()]

    application = AuthMiddleware(login, settings)
    assert TestApp(application).get("/").text.split() == [USERNAME] * len(AROUND)
    storage.discard_connection(application.database)


def test_a_space_inside_a_name_is_refused(client):
    fields = {"username": "Grace\u200bHopper", "email": "g race@example.org", "password": PASSWORD}
    refused = client.post_json("/auth/register", fields, status=422)
    assert [*refused.json["errors"]] == ["username", "email"]
