"""Names with spaces and invisible characters around them, which phones and clipboards add."""

import pytest
from webtest import TestApp

from tests.support.mails import Post, with_mail
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import find_user
from wsgiauth.logins import authenticate
from wsgiauth.testing import logged_in

AROUND = pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", " ", id="a space behind"),
        pytest.param("\t", "\u3000\n", id="other spaces"),
        pytest.param("\u200b", "\u200e", id="zero-width space, mark"),
        pytest.param("\ufeff", " \u200f \u2069", id="byte-order mark, isolate"),
    ],
)


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def site(settings, post, unsent):
    made = AuthMiddleware(echo, with_mail(settings), send_mail=post)
    yield made
    storage.discard_connection(made.database)


@AROUND
def test_a_registration_takes_the_names_alone(client, before, after):
    fields = {"username": f"{before}Grace{after}", "email": f"{before}grace@example.org{after}"}
    created = client.post_json("/auth/register", {**fields, "password": PASSWORD}, status=201)
    assert (created.json["username"], created.json["email"]) == ("Grace", "grace@example.org")


@AROUND
def test_a_new_username_is_taken_alone(site, ada, before, after):
    page = logged_in(site, ada).get("/auth/username", headers=BROWSER)
    page.form["username"] = f"{before}Countess{after}"
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert find_user("Countess") == ada


@AROUND
def test_a_new_address_gets_the_link(site, ada, post, before, after):
    page = logged_in(site, ada).get("/auth/email", headers=BROWSER)
    form = page.forms[1]
    form["email"] = f"{before}new@example.org{after}"
    form.submit(headers=SAME_ORIGIN, status=202)
    site.site.outbox.deliver()
    assert post.recipients == ["new@example.org"]


@AROUND
def test_a_login_of_the_application_finds_the_user(settings, ada, before, after):
    def login(environ, start_response):
        found = authenticate(environ, f"{before}{USERNAME}{after}", PASSWORD)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(found).encode()]

    application = AuthMiddleware(login, settings)
    assert TestApp(application).get("/").text == USERNAME
    storage.discard_connection(application.database)


def test_a_space_inside_a_name_is_refused(client):
    fields = {"username": "Grace\u200bHopper", "email": "g race@example.org", "password": PASSWORD}
    refused = client.post_json("/auth/register", fields, status=422)
    assert [*refused.json["errors"]] == ["username", "email"]
