"""log_in and log_out: a view of the application's own starts and ends our login."""

import re
from dataclasses import replace
from functools import partial

import pytest
from webtest import TestApp

from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, User, authenticate, current_user, log_in, log_out, storage
from wsgiauth.accounts.tables import Session
from wsgiauth.exceptions import MiddlewareMissingError, RetryLaterError
from wsgiauth.testing import make_settings, make_user
from wsgiauth.throttling.hash_slots import Claim, HashSlots

CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}
PUBLIC = ("Cache-Control", "public, max-age=60")
DAY = 24 * 3600


class Host:
    """An application that answers POST by a view of the test, then says who the caller is."""

    headers = ()

    def __call__(self, environ, start_response):
        headers = [*self.headers]
        if environ["REQUEST_METHOD"] == "POST":
            self.returned = self.view(environ)
            headers += self.returned or []
        return echo(environ, lambda status, own: start_response(status, [*own, *headers]))


@pytest.fixture
def host():
    return Host()


@pytest.fixture
def heard():
    return []


@pytest.fixture
def site(host, settings, heard):
    middleware = AuthMiddleware(host, settings, on_event=heard.append)
    yield middleware
    storage.discard_connection(middleware.database)


@pytest.fixture
def post(client, host):
    """Return a function that sends a request to a view, and returns the answer."""

    def post_to(view, headers=None, **environ):
        host.view = view
        return client.post("/", headers=headers, extra_environ=environ)

    return post_to


def kept(client):
    """Return the header with the cookies that a browser has now."""
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}


def caller(site, headers):
    return TestApp(site).get("/", headers=headers).json["user"]


# Checking a password


def checking(found, name=USERNAME, password=PASSWORD):
    """Return a view that appends what `authenticate` returns."""
    return lambda environ: found.append(authenticate(environ, name, password))


@pytest.mark.parametrize("name", [USERNAME, EMAIL.upper()], ids=["username", "address"])
def test_a_view_finds_the_user_of_a_password_who_can_then_log_in(post, client, ada, name):
    found = []
    assert post(checking(found, name)).json["user"] is None
    assert found == [ada]
    post(lambda environ: log_in(environ, authenticate(environ, name, PASSWORD)))
    assert client.get("/").json["user"] == USERNAME


def test_every_failure_is_none(post, ada):
    found = []
    for name, password in (
        ("Grace", PASSWORD),
        (USERNAME, "wrong"),
        ("", PASSWORD),
        (USERNAME, ""),
    ):
        post(checking(found, name, password))
    assert found == [None] * 4


def test_an_inactive_user_is_none(post, ada):
    deactivate(ada)
    found = []
    post(checking(found))
    assert found == [None]


@pytest.mark.every_database
@pytest.mark.promise(12)
def test_guesses_at_a_view_and_at_the_login_page_are_counted_together(
    stopped_throttle, post, client, ada, settings
):
    for _ in range(settings.LOGIN_FAILURES_PER_ACCOUNT):
        post(checking([], password="wrong"))
    client.post_json("/auth/login", {"username": USERNAME, "password": PASSWORD}, status=429)
    with pytest.raises(RetryLaterError) as refused:
        post(checking([]))
    assert refused.value.status == 429
    assert int(dict(refused.value.headers)["Retry-After"]) > 0


@pytest.mark.promise(14)
def test_without_a_free_slot_the_client_must_come_back(host, settings, monkeypatch, ada):
    monkeypatch.setattr("wsgiauth.site.HashSlots", partial(HashSlots, longest_wait=0))
    site = AuthMiddleware(host, replace(settings, HASHING_THREADS=1))
    host.view = checking([])
    with (
        site.site.hash_slots.slot(Claim(("192.0.2.9",))),
        pytest.raises(RetryLaterError) as refused,
    ):
        TestApp(site).post("/")
    assert refused.value.status == 503


# Who is calling


def test_a_view_asks_who_is_calling(post, ada):
    found = []
    post(lambda environ: found.append(current_user(environ)))
    post(lambda environ: log_in(environ, ada))
    post(lambda environ: found.append(current_user(environ)))
    assert found == [None, ada]


# Logging in


def test_a_view_that_got_a_bearer_token_logs_in_by_the_cookie(post, client, ada, bearer):
    at_once = post(lambda environ: log_in(environ, ada), headers=bearer(ada)).json
    assert (at_once["user"], at_once["auth_type"]) == (USERNAME, "Cookie")


@pytest.mark.every_database
def test_a_view_logs_a_browser_in(post, client, ada):
    at_once = post(lambda environ: log_in(environ, ada)).json
    assert (at_once["user"], at_once["remote_user"], at_once["error"]) == (USERNAME, USERNAME, None)
    assert at_once["auth_type"] == "Cookie"
    assert client.get("/").json == at_once
    assert at_once["session"] == Session.get().id


def test_its_cookie_is_that_of_the_login_page(post, client, ada):
    form = {"username": USERNAME, "password": PASSWORD}
    usual = client.post("/auth/login", form, headers=SAME_ORIGIN).headers["Set-Cookie"]
    own = post(lambda environ: log_in(environ, ada)).headers["Set-Cookie"]
    assert re.sub("=ey[^;]*", "", own) == re.sub("=ey[^;]*", "", usual)


def test_over_https_its_cookie_is_secure(post, ada):
    answer = post(lambda environ: log_in(environ, ada), **{"wsgi.url_scheme": "https"})
    assert re.match("__Host-wsgiauth=.*; Secure$", answer.headers["Set-Cookie"])


def test_a_login_moves_while_it_is_used(post, ada, settings):
    post(lambda environ: log_in(environ, ada))
    assert Session.get().idle == settings.JWT_EXPIRY_MINUTES * 60


def test_a_login_can_be_remembered(post, ada):
    answer = post(lambda environ: log_in(environ, ada, remember=True))
    (left,) = re.findall("Max-Age=([0-9]+);", answer.headers["Set-Cookie"])
    assert 30 * DAY - 60 < int(left) <= 30 * DAY  # less what the login took
    assert Session.get().idle == 14 * DAY


def test_a_login_says_by_what_and_from_where(post, ada, heard):
    post(lambda environ: log_in(environ, ada, methods="pwd otp"), {"User-Agent": "Lynx"})
    login = Session.get()
    assert (login.methods, login.agent) == ("pwd otp", "Lynx")
    assert (heard[-1].name, heard[-1].reason) == ("login", "pwd otp")


def test_the_login_before_it_ends(post, client, site, ada):
    post(lambda environ: log_in(environ, ada))
    before = kept(client)
    post(lambda environ: log_in(environ, ada))
    assert (caller(site, kept(client)), caller(site, before)) == (USERNAME, None)


def test_the_login_of_a_token_ends_too(post, site, ada, bearer):
    headers = bearer(ada)
    post(lambda environ: log_in(environ, ada), headers)
    assert caller(site, headers) is None


@pytest.mark.every_database
def test_of_two_logins_in_one_request_the_second_stays(post, client, ada):
    post(lambda environ: log_in(environ, ada) and log_in(environ, ada))
    assert client.get("/").json["user"] == USERNAME
    assert Session.select().count() == 1


def deactivate(user):
    user.is_active = False
    user.save()


@pytest.mark.parametrize("change", [deactivate, User.delete_instance])
def test_who_cannot_log_in_leaves_everything_as_it_was(post, client, host, site, ada, change):
    post(lambda environ: log_in(environ, ada))
    grace = make_user(site, "Grace")
    change(grace)
    assert post(lambda environ: log_in(environ, grace)).json["user"] == USERNAME
    assert host.returned is None
    assert client.get("/").json["user"] == USERNAME


# Logging out


def test_a_view_logs_a_browser_out(post, client, site, ada, heard):
    post(lambda environ: log_in(environ, ada))
    before = kept(client)
    at_once = post(log_out).json
    assert {at_once[key] for key in ("user", "session", "error", "remote_user")} == {None}
    assert kept(client) == {"Cookie": ""}
    assert caller(site, before) is None
    assert Session.select().count() == 0
    assert [each.name for each in heard[-2:]] == ["login", "logout"]


def test_a_login_can_end_in_the_request_that_began_it(post, client, ada):
    post(lambda environ: log_in(environ, ada) and log_out(environ))
    assert client.get("/").json["user"] is None
    assert Session.select().count() == 0


def test_without_a_login_nothing_is_sent(post, host):
    post(log_out)
    assert host.returned == []


@pytest.mark.every_database
def test_the_cookie_of_a_login_that_has_ended_is_deleted(post, client, ada):
    post(lambda environ: log_in(environ, ada))
    Session.delete().execute()
    post(log_out)
    assert kept(client) == {"Cookie": ""}


@pytest.mark.promise(17)
def test_another_sites_form_logs_nobody_out(post, client, host, ada):
    post(lambda environ: log_in(environ, ada))
    post(log_out, CROSS_SITE)
    assert host.returned == []
    assert client.get("/").json["user"] == USERNAME


# Both


@pytest.mark.promise(21)
@pytest.mark.parametrize("public", [(), (PUBLIC,)], ids=["", "that others are permitted to keep"])
def test_no_cache_keeps_an_answer_with_our_cookie(post, host, ada, public):
    host.headers = public
    for view in (lambda environ: log_in(environ, ada), log_out):
        answer = post(view)
        assert "Set-Cookie" in answer.headers
        assert "no-store" in answer.headers.getall("Cache-Control")


def test_malformed_methods_are_refused(post, ada):
    for methods in ("", " ", "pwd,otp", "pwd  otp", "PWD", "pwd\n", "x" * 65):
        with pytest.raises(ValueError, match="RFC 8176"):
            post(lambda environ, methods=methods: log_in(environ, ada, methods=methods))


def test_what_is_no_user_is_refused(post):
    for user in ("Ada", None, 1):
        with pytest.raises(TypeError, match="must be a User of wsgiauth"):
            post(lambda environ, user=user: log_in(environ, user))


def test_a_user_of_another_application_is_refused(post, ada):
    other = AuthMiddleware(echo, make_settings())
    stranger = make_user(other)
    with pytest.raises(ValueError, match="another application"):
        post(lambda environ: log_in(environ, stranger))
    storage.discard_connection(other.database)


def test_without_the_middleware_an_error_says_so():
    for name, function in {
        "log_out": log_out,
        "log_in": lambda environ: log_in(environ, User()),
        "authenticate": lambda environ: authenticate(environ, USERNAME, PASSWORD),
        "current_user": current_user,
    }.items():
        with pytest.raises(MiddlewareMissingError, match=f"and {name} needs it"):
            function({"REQUEST_METHOD": "POST"})
