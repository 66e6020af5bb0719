"""Guards: who may enter a view, and what the others are told."""

import copy
import functools
from dataclasses import replace

import pytest
from webob.dec import wsgify
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.logins import make_stale
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, Group, login_required, permission_required, storage
from wsgiauth.accounts import create_user, known_permissions, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Permission, Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.methods import MULTI_FACTOR
from wsgiauth.exceptions import (
    ForbiddenError,
    KeyNotAcceptedError,
    MiddlewareMissingError,
    NotFoundError,
)
from wsgiauth.guards import make_guard
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in, make_user
from wsgiauth.web.urls import with_next

CHALLENGE = 'Bearer realm="wsgiauth"'
INVALID_TOKEN = 'Bearer realm="wsgiauth", error="invalid_token"'

GUARDS = [
    login_required,
    login_required(redirect_url="/auth/login"),
    permission_required("reports.publish"),
]


class Stage:
    """An application that shows whichever view a test puts on it."""

    view = staticmethod(echo)

    def __call__(self, environ, start_response):
        return self.view(environ, start_response)


@pytest.fixture
def stage():
    return Stage()


@pytest.fixture
def site(settings, stage):
    middleware = AuthMiddleware(stage, settings)
    yield middleware
    storage.discard_connection(storage.current())


# Everything that can be a WSGI callable, behind a guard.


def function(guard):
    return guard(echo)


def function_in_a_class_body(guard):
    class Views:
        @guard
        def view(self, environ, start_response):
            return echo(environ, start_response)

    return Views().view


def bound_method(guard):
    class Views:
        def view(self, environ, start_response):
            return echo(environ, start_response)

    return guard(Views().view)


def static_method(guard):
    class Views:
        @guard
        @staticmethod
        def view(environ, start_response):
            return echo(environ, start_response)

    return Views().view


def static_method_by_its_class(guard):
    class Views:
        @staticmethod
        @guard
        def view(environ, start_response):
            return echo(environ, start_response)

    return Views.view


def class_method(guard):
    class Views:
        @classmethod
        @guard
        def view(cls, environ, start_response):
            return echo(environ, start_response)

    return Views.view


def method_called_on_its_class(guard):
    class Views:
        @guard
        def view(self, environ, start_response):
            return echo(environ, start_response)

        def __call__(self, environ, start_response):
            return Views.view(self, environ, start_response)

    return Views()


def callable_instance(guard):
    class View:
        def __call__(self, environ, start_response):
            return echo(environ, start_response)

    return guard(View())


def callable_instance_in_a_class_body(guard):
    class View:
        def __call__(self, environ, start_response):
            return echo(environ, start_response)

    class Views:
        view = guard(View())

    return Views().view


def callable_instance_by_its_class(guard):
    class View:
        def __call__(self, environ, start_response):
            return echo(environ, start_response)

    class Views:
        view = guard(View())

    return Views.view


def class_of_callable_instances(guard):
    @guard
    class View:
        def __call__(self, environ, start_response):
            return echo(environ, start_response)

    return View()


def class_that_inherits_its_call(guard):
    class Base:
        def __call__(self, environ, start_response):
            return echo(environ, start_response)

    @guard
    class View(Base):
        pass

    return View()


def class_that_is_the_app(guard):
    @guard
    class View:
        def __init__(self, environ, start_response):
            self.answer = echo(environ, start_response)

        def __iter__(self):
            yield from self.answer

    return View


def partial(guard):
    return guard(functools.partial(echo))


def wsgified_function(guard):
    @guard
    @wsgify
    def view(request):
        return request.get_response(echo)

    return view


def wsgified_function_in_a_class_body(guard):
    class Views:
        @guard
        @wsgify
        def view(self, request):
            return request.get_response(echo)

    return Views().view


def guarded_twice(guard):
    return login_required(guard(echo))


CALLABLES = [
    function,
    function_in_a_class_body,
    bound_method,
    static_method,
    static_method_by_its_class,
    class_method,
    method_called_on_its_class,
    callable_instance,
    callable_instance_in_a_class_body,
    callable_instance_by_its_class,
    class_of_callable_instances,
    class_that_inherits_its_call,
    class_that_is_the_app,
    partial,
    wsgified_function,
    wsgified_function_in_a_class_body,
    guarded_twice,
]


def test_every_kind_of_callable_is_guarded(client, stage, ada, bearer):
    ada.grant("reports.publish")
    headers = bearer(ada)
    for guarded in CALLABLES:
        for guard in (login_required, permission_required("reports.publish")):
            stage.view = guarded(guard)
            assert client.get("/", headers=headers).json["user"] == USERNAME, guarded
            assert client.get("/", status="*").status_int == 401, guarded


def test_the_class_that_a_guarded_class_inherits_from_stays_open(client, stage):
    class Base:
        def __call__(self, environ, start_response):
            return echo(environ, start_response)

    @login_required
    class View(Base):
        def __call__(self, environ, start_response):
            return super().__call__(environ, start_response)

    stage.view = Base()
    client.get("/", status=200)
    stage.view = View()
    client.get("/", status=401)


def test_what_inherits_from_a_guarded_class_is_guarded(client, stage):
    @login_required
    class Base:
        def __call__(self, environ, start_response):
            return echo(environ, start_response)

    class View(Base):
        pass

    stage.view = View()
    client.get("/", status=401)


def test_a_class_has_the_guards_of_all_its_bases(client, stage, ada, bearer):
    class Base:
        def __call__(self, environ, start_response):
            return echo(environ, start_response)

    @login_required
    class ForUsers(Base):
        pass

    @permission_required("reports.publish")
    class ForPublishers(Base):
        pass

    class ForBoth(ForUsers, ForPublishers):
        pass

    stage.view = ForBoth()
    client.get("/", headers=bearer(ada), status=403)
    client.get("/", status=401)
    ada.grant("reports.publish")
    client.get("/", headers=bearer(ada), status=200)


def test_a_guarded_method_knows_its_instance(client, stage, ada, bearer):
    class Views:
        def __init__(self, text):
            self.text = text

        @login_required
        @wsgify
        def view(self, request):
            return self.text

    first, second = Views("first"), Views("second")
    shown = []
    for views in (first, second):
        stage.view = views.view
        shown.append(client.get("/", headers=bearer(ada)).text)
    assert shown == ["first", "second"]


# What a guard leaves as it was.


def test_names_docstrings_and_attributes_are_kept():
    def view(environ, start_response):
        """Show the reports."""

    view.title = "Reports"
    for guard in GUARDS:
        guarded = guard(view)
        assert (guarded.__name__, guarded.__doc__) == ("view", "Show the reports.")
        assert (guarded.title, guarded.__wrapped__) == ("Reports", view)


def test_a_method_keeps_its_name_and_docstring():
    class Views:
        @login_required
        def view(self, environ, start_response):
            """Show the reports."""

    for guarded in (Views.view, Views().view):
        assert (guarded.__name__, guarded.__doc__) == ("view", "Show the reports.")


def test_a_guarded_class_is_still_that_class():
    class View:
        def __call__(self, environ, start_response):
            """Show the reports."""

    assert login_required(View) is View
    assert View.__call__.__doc__ == "Show the reports."


def test_an_unknown_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match="title"):
        login_required(echo).title  # noqa: B018 - reading it is the test


def test_an_attribute_that_the_view_changes_is_seen_through_the_guard():
    class View:
        visits = 0

        def __init__(self):
            self.visits = 0

        def __call__(self, environ, start_response):
            """Never called here."""

    view = View()
    guarded = login_required(view)
    view.visits = 1
    assert guarded.visits == 1


def test_a_guarded_view_can_be_copied():
    guarded = copy.copy(login_required(echo))
    assert guarded.__wrapped__ is echo


def noting(app, seen):
    """Return a view that appends what an application is called with and what it returns."""

    def view(environ, start_response):
        app_iter = app(environ, start_response)
        seen.append(((environ, start_response), app_iter))
        return app_iter

    return view


@pytest.mark.promise(21)
def test_a_guard_hands_everything_through_untouched(client, stage, ada, bearer):
    ada.grant("reports.publish")
    for guard in GUARDS:
        seen = []
        stage.view = noting(guard(noting(echo, seen)), seen)
        client.get("/", headers=bearer(ada))
        (inner_arguments, inner_iter), (outer_arguments, outer_iter) = seen
        assert inner_iter is outer_iter
        assert all(map(lambda one, other: one is other, inner_arguments, outer_arguments))


# What those who may not enter are told.


def test_a_stranger_is_challenged(client, stage):
    stage.view = login_required(echo)
    refused = client.get("/", status=401)
    assert refused.headers["WWW-Authenticate"] == CHALLENGE
    assert refused.content_type == "application/problem+json"
    assert refused.json == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "detail": "Log in to open this page.",
        "code": "unauthenticated",
    }


def test_a_bad_token_is_challenged_as_such(client, stage):
    headers = {**BROWSER, "Authorization": "Bearer x.y.z"}
    for guard in GUARDS:
        stage.view = guard(echo)
        refused = client.get("/", headers=headers, status=401)
        assert refused.headers["WWW-Authenticate"] == INVALID_TOKEN
        refused.mustcontain("This token or API key is invalid, expired or revoked.")


def test_a_browser_that_is_not_redirected_gets_a_page(client, stage):
    stage.view = login_required(echo)
    refused = client.get("/", headers=BROWSER, status=401)
    assert refused.headers["WWW-Authenticate"] == CHALLENGE
    refused.mustcontain("Log in to open this page.", 'href="/auth/login?next=%2F"')


REPORTS = "%2Freports%2F%25C3%25AB%3Fpage%3D2%26all"  # as a `next`


REDIRECTS = [
    ("GET", "/auth/login", f"/auth/login?next={REPORTS}"),
    ("HEAD", "/auth/login", f"/auth/login?next={REPORTS}"),
    ("GET", "/in?a=b", f"/in?a=b&next={REPORTS}"),
    ("POST", "/auth/login", f"/auth/login?done=unsent&next={REPORTS}"),
    ("PUT", "/auth/login", f"/auth/login?done=unsent&next={REPORTS}"),
    ("DELETE", "/in?a=b", "/in?a=b"),
]


def test_an_anonymous_browser_is_redirected(client, stage):
    url = "/reports/%C3%AB?page=2&all"
    for method, redirect_url, location in REDIRECTS:
        for guard in (login_required, functools.partial(permission_required, "a.b")):
            stage.view = guard(redirect_url=redirect_url)(echo)
            answer = client.request(url, method=method, headers=BROWSER, status=302)
            assert (answer.headers["Location"], answer.body) == (location, b"")


@pytest.mark.promise(18)
def test_a_path_that_nobody_would_be_sent_back_to_is_left_out(client, stage):
    stage.view = login_required(redirect_url="/auth/login")(echo)
    for url in (
        "/" + "a" * 8192,
        "/" + "%FF" * 60_000,
        "/a?" + "b" * 60_000,
        "/%0d%0a",
        "/./" + "/" * 9,
    ):
        answer = client.get(url, headers=BROWSER, status=302)
        assert answer.headers["Location"] == "/auth/login"


@pytest.mark.promise(18)
def test_a_forged_host_changes_no_redirect(client, stage):
    stage.view = login_required(redirect_url="/auth/login")(echo)
    answer = client.get("/", headers={**BROWSER, "Host": "evil.example"}, status=302)
    assert answer.headers["Location"] == "/auth/login?next=%2F"


PROGRAMS = [
    {},  # no Accept
    {"Accept": "*/*"},  # anything
    {"Accept": "application/json"},  # JSON
    {"Accept": "application/json, text/html;q=0.9"},  # JSON rather than HTML
    {"Accept": "text/html;q=0, */*"},  # no HTML
    {**BROWSER, "Authorization": "Bearer x"},  # bearer
    {**BROWSER, "Authorization": "Basic eDp5"},  # other scheme
    {**BROWSER, "Authorization": ""},  # empty Authorization
]


def test_a_program_is_not_redirected(client, stage):
    stage.view = login_required(redirect_url="/auth/login")(echo)
    assert [
        each for each in PROGRAMS if client.get("/", headers=each, status="*").status_int != 401
    ] == []


def test_a_browser_with_a_stale_cookie_is_redirected(client, stage):
    stage.view = login_required(redirect_url="/auth/login")(echo)
    client.get("/", headers={**BROWSER, "Cookie": "wsgiauth=x.y.z"}, status=302)


def test_the_redirect_leads_through_the_login_page_back_to_the_page(client, stage, ada):
    stage.view = login_required(redirect_url="/auth/login")(echo)
    form = client.get("/reports?page=2", headers=BROWSER).follow(headers=BROWSER).form
    form["username"], form["password"] = USERNAME, PASSWORD
    page = form.submit(headers=SAME_ORIGIN).follow(headers=BROWSER)
    assert (page.request.path_qs, page.json["user"]) == ("/reports?page=2", USERNAME)


@pytest.mark.promise(23)
def test_below_a_prefix_the_redirect_has_the_prefix_once(client, stage):
    guarded = login_required(redirect_url="/auth/login")(echo)

    def dispatch(environ, start_response):
        shifted = {**environ, "SCRIPT_NAME": "/app/sub", "PATH_INFO": "/reports"}
        return guarded(shifted, start_response)

    stage.view = dispatch
    prefix = {"SCRIPT_NAME": "/app"}
    answer = client.get("/sub/reports", headers=BROWSER, extra_environ=prefix, status=302)
    assert answer.headers["Location"] == "/app/auth/login?next=%2Fapp%2Fsub%2Freports"


def test_a_user_without_the_permission_is_forbidden(client, stage, ada, bearer):
    ada.grant("reports.archive")
    for redirect_url in (None, "/auth/login"):
        stage.view = permission_required("reports.publish", redirect_url=redirect_url)(echo)
        refused = client.get("/", headers=bearer(ada), status=403)
        assert "WWW-Authenticate" not in refused.headers
        assert refused.json == {
            "type": "about:blank",
            "title": "Forbidden",
            "status": 403,
            "detail": "Your account does not have the permission that this page requires.",
            "code": "forbidden",
        }


def test_a_browser_without_the_permission_gets_a_page(client, stage, ada, bearer):
    stage.view = permission_required("reports.publish", redirect_url="/auth/login")(echo)
    headers = {**BROWSER, "Cookie": bearer(ada)["Authorization"].replace("Bearer ", "wsgiauth=")}
    page = client.get("/", headers=headers, status=403)
    page.mustcontain("You do not have permission to open this page", "login?switch=1&amp;next=%2F")


@pytest.mark.promise(5)
def test_a_permission_counts_from_and_until_the_next_request(client, stage, ada, bearer):
    stage.view = permission_required("reports.publish")(echo)
    headers = bearer(ada)
    client.get("/", headers=headers, status=403)
    ada.grant("reports.publish")
    client.get("/", headers=headers, status=200)
    ada.revoke("reports.publish")
    client.get("/", headers=headers, status=403)


@pytest.mark.promise(5)
def test_a_superuser_enters_until_demoted(client, stage, settings, ada, bearer):
    create_user("boss", "boss@example.org", PASSWORD, settings=settings, is_superuser=True)
    stage.view = permission_required("reports.publish")(echo)
    headers = bearer(ada)
    ada.is_superuser = True
    ada.save()
    client.get("/", headers=headers, status=200)
    ada.is_superuser = False
    ada.save()
    client.get("/", headers=headers, status=403)


@pytest.mark.promise(28)
def test_a_database_that_fails_between_identification_and_guard_is_a_503(
    client, stage, ada, bearer, caplog
):
    guarded = permission_required("reports.publish")(echo)

    def lose_the_permissions(environ, start_response):
        Permission.drop_table()
        return guarded(environ, start_response)

    stage.view = lose_the_permissions
    refused = client.get("/", headers=bearer(ada), status=503)
    assert refused.json["code"] == "unavailable"
    assert int(refused.headers["Retry-After"]) > 0
    assert "the account database failed: OperationalError: no such table" in caplog.text
    assert storage.current().is_closed()  # the next request begins with a new connection


# Mistakes of the programmer.


NO_PERMISSIONS = [
    "",
    "publish",
    "reports.",
    ".publish",
    "a.b.c",
    "a b.c",
    "a.b\n",
    "ä.b",
    "x." + "y" * 99,
    5,
]


def test_a_permission_of_another_form_is_refused_when_decorating():
    for permission in NO_PERMISSIONS:
        with pytest.raises(ValueError, match="a permission must have the form"):
            permission_required(permission)


def test_a_permission_guard_without_its_permission_is_refused_when_decorating():
    with pytest.raises(ValueError, match="a permission must have the form"):
        permission_required(echo)


NO_PATHS = [
    *("", "login", "//evil.example", "https://evil.example/", "/\\evil.example"),
    *("/a b", "/a\r\nb", True, b"/auth/login"),
]


def test_a_redirect_to_anything_but_a_path_is_refused_when_decorating():
    for guard in (login_required, functools.partial(permission_required, "a.b")):
        for redirect_url in NO_PATHS:
            with pytest.raises(ValueError, match="redirect_url must be a path"):
                guard(redirect_url=redirect_url)


def test_a_switch_that_is_neither_true_nor_false_is_refused_when_decorating():
    for guard in (login_required, functools.partial(permission_required, "a.b")):
        for name, value in (("fresh", "off"), ("second_factor", 1), ("fresh", None)):
            with pytest.raises(ValueError, match=f"^{name} must be True or False, not"):
                guard(**{name: value})


def test_what_cannot_be_called_is_refused_when_decorating():
    for guard in GUARDS:
        for app in ("/auth/login", 5, {}):
            with pytest.raises(TypeError, match="is not callable"):
                guard(app)


def test_a_request_without_the_middleware_is_an_error_that_says_so():
    def never(*arguments):
        pytest.fail("the view or its start_response was called")

    for guard in GUARDS:
        with pytest.raises(MiddlewareMissingError, match="no AuthMiddleware is around it"):
            guard(never)({"REQUEST_METHOD": "GET"}, never)


# A recent proof.

FRESH_GUARDS = [login_required(fresh=True), permission_required("a.b", fresh=True)]
STALE = 'Bearer realm="wsgiauth", error="insufficient_user_authentication", max_age="900"'


@pytest.fixture
def superuser(ada):
    ada.is_superuser = True
    ada.save()
    return ada


@pytest.fixture
def browser(site, superuser):
    """Return a browser whose login is stale."""
    visitor = logged_in(site, superuser)
    make_stale()
    return visitor


@pytest.mark.promise(46)
@pytest.mark.parametrize("guard", FRESH_GUARDS)
def test_a_program_without_a_recent_proof_is_challenged(client, stage, superuser, bearer, guard):
    stage.view = guard(echo)
    headers = bearer(superuser)
    client.get("/", headers=headers, status=200)
    make_stale()
    refused = client.post("/", headers=headers, status=401)
    assert refused.headers["WWW-Authenticate"] == STALE
    assert refused.json["code"] == "insufficient_user_authentication"
    assert refused.json["detail"] == "Confirm that it is you at /auth/confirm, then try again."


@pytest.mark.promise(46)
def test_a_proof_lasts_as_long_as_the_setting_says(settings, ada, tokens):
    for minutes, status in ((61, 200), (59, 401)):
        site = AuthMiddleware(
            login_required(fresh=True)(echo), replace(settings, FRESH_MINUTES=minutes)
        )
        headers = {"Authorization": f"Bearer {sessions.start(ada, tokens).token}"}
        make_stale()
        answer = TestApp(site).get("/", headers=headers, status=status)
        storage.discard_connection(site.database)
    assert f'max_age="{59 * 60}"' in answer.headers["WWW-Authenticate"]


def test_an_error_page_says_that_a_recent_proof_is_missing(client, stage, ada, bearer):
    stage.view = login_required(fresh=True)(echo)
    headers = bearer(ada)
    make_stale()
    page = client.get("/", headers={**BROWSER, **headers}, status=401)
    assert page.html.h1.text == "Confirm that it is you"


@pytest.mark.promise(46)
def test_a_browser_without_a_recent_proof_is_sent_to_confirm(browser, stage):
    for guard in FRESH_GUARDS:
        stage.view = guard(echo)
        for method in ("GET", "HEAD"):
            asked = browser.request("/reports?page=2", method=method, headers=BROWSER, status=302)
            assert asked.headers["Location"] == "/auth/confirm?next=%2Freports%3Fpage%3D2"


REFERERS = [
    (None, "/send"),  # none
    ("http://localhost:80/form?page=2", "/form?page=2"),  # this site
    ("https://localhost:80/form", "/form"),  # this site behind a proxy
    ("http://localhost:80/form#part", "/form"),  # fragment
    ("http://localhost:80", "/send"),  # no path
    ("http://evil.example/form", "/send"),  # another site
    ("http://localhost:80//evil.example/", "/send"),  # two slashes
    ("http://localhost:80/\\evil.example/", "/send"),  # backslash
    ("http://localhost:80/a%0d%0ab", "/send"),  # encoded control characters
    ("http://localhost:80/" + "x" * 8192, "/send"),  # long
    ("http://[localhost:80/form", "/send"),  # no URL
    ("/form", "/send"),  # a path
]


@pytest.mark.promise(46)
def test_a_form_without_a_recent_proof_leads_back_to_its_page(browser, stage):
    def view(environ, start_response):
        pytest.fail("the view was entered")

    stage.view = login_required(fresh=True)(view)
    for referer, destination in REFERERS:
        headers = SAME_ORIGIN if referer is None else {**SAME_ORIGIN, "Referer": referer}
        asked = browser.post("/send", {"text": "typed"}, headers=headers, status=303)
        expected = with_next("/auth/confirm?resend=1", destination)
        assert (referer, asked.headers["Location"]) == (referer, expected)


def test_a_form_at_a_path_that_leads_nowhere_goes_on_at_the_home_page(browser, stage):
    stage.view = login_required(fresh=True)(echo)
    asked = browser.post("/a/..//b", headers=SAME_ORIGIN, status=303)
    assert asked.headers["Location"] == "/auth/confirm?resend=1"


@pytest.mark.promise(23)
def test_the_page_to_confirm_is_below_the_prefix_and_the_mount(settings):
    site = AuthMiddleware(login_required(fresh=True)(echo), settings, mount="/account")
    browser = logged_in(site)
    make_stale()
    prefix = {"SCRIPT_NAME": "/app"}
    asked = browser.get("/x", headers=BROWSER, extra_environ=prefix, status=302)
    assert asked.headers["Location"] == "/app/account/confirm?next=%2Fapp%2Fx"
    storage.discard_connection(site.database)


def test_an_anonymous_client_is_not_asked_to_confirm(client, stage):
    for guard in FRESH_GUARDS:
        stage.view = guard(echo)
        refused = client.get("/", headers=BROWSER, status=401)
        assert refused.headers["WWW-Authenticate"] == CHALLENGE


def test_a_user_without_the_permission_is_not_asked_to_confirm(client, stage, ada, bearer):
    stage.view = permission_required("a.b", fresh=True)(echo)
    headers = bearer(ada)
    make_stale()
    client.get("/", headers=headers, status=403)


@pytest.mark.promise(46)
def test_a_user_without_a_session_has_no_recent_proof(client, stage, ada):
    """Such as one whom the application has put into the environ."""
    guarded = login_required(fresh=True)(echo)

    def impersonate(environ, start_response):
        return guarded({**environ, "wsgiauth.user": ada}, start_response)

    stage.view = impersonate
    client.get("/", status=401)


def test_a_guard_costs_a_query_only_if_it_asks_for_a_recent_proof(
    client, stage, ada, bearer, queries
):
    headers = bearer(ada)
    costs = []
    for guard in (login_required, login_required(fresh=True)):
        stage.view = guard(echo)
        costs.append(len(queries(lambda: client.get("/", headers=headers))))
    assert costs == [1, 2]


@pytest.mark.promise(28)
def test_a_database_that_fails_before_the_proof_is_found_is_a_503(client, stage, ada, bearer):
    guarded = login_required(fresh=True)(echo)

    def lose_the_sessions(environ, start_response):
        Session.drop_table()
        return guarded(environ, start_response)

    stage.view = lose_the_sessions
    assert client.get("/", headers=bearer(ada), status=503).json["code"] == "unavailable"


# Known permissions


def test_the_permission_of_a_guard_is_known_once_it_decorates():
    assert "known.once" not in known_permissions.asked_for()
    permission_required("known.once")(echo)
    assert "known.once" in known_permissions.asked_for()


def test_the_permission_of_a_guard_that_is_refused_is_not_known():
    for arguments in (("unknown",), ("unknown.url", "http://elsewhere.example/")):
        with pytest.raises(ValueError, match="must"):
            permission_required(*arguments)
        assert arguments[0] not in known_permissions.asked_for()


@pytest.mark.every_database
@pytest.mark.promise(47)
def test_a_right_of_a_group_counts_on_the_next_request(stage, client, ada, bearer):
    stage.view = permission_required("reports.publish")(echo)
    editors = Group.objects.create(name="editors")
    headers = bearer(ada)
    changes = (
        (lambda: ada.join(editors), 403),
        (lambda: editors.grant("reports.publish"), 200),
        (lambda: ada.leave(editors), 403),
        (lambda: ada.join(editors), 200),
        (lambda: editors.revoke("reports.publish"), 403),
        (lambda: editors.grant("reports.publish"), 200),
        (editors.delete_instance, 403),
    )
    for change, status in changes:
        change()
        client.get("/", headers=headers, status=status)


# Guards with `second_factor`.

WITH_FACTOR = [
    pytest.param(login_required(second_factor=True), id="login"),
    pytest.param(permission_required("a.b", second_factor=True), id="permission"),
    pytest.param(login_required(second_factor=True, fresh=True), id="fresh"),
]


@pytest.fixture
def strict(settings, stage, ada):
    """Return a site with second factors, and Ada on it, who has every permission."""
    update_user(ada, is_superuser=True)
    made = AuthMiddleware(stage, replace(settings, FACTOR_KEY=FACTOR_KEY))
    with context.using(made.database):
        ada = User.get()
    yield made, ada
    storage.discard_connection(made.database)


@pytest.mark.promise(55)
@pytest.mark.parametrize("guard", WITH_FACTOR)
def test_a_user_without_a_second_factor_sets_one_up_first(guard, strict, stage):
    site, ada = strict
    stage.view = guard(echo)
    answer = logged_in(site, ada).get("/x?y=1", headers=BROWSER, status=302)
    assert answer.headers["Location"] == "/auth/totp?next=%2Fx%3Fy%3D1"
    refused = TestApp(site).get("/", headers=bearer(site, ada), status=401)
    assert refused.json["code"] == "second_factor_setup_required"
    assert f'acr_values="{MULTI_FACTOR}"' in refused.headers["WWW-Authenticate"]


@pytest.mark.promise(55)
@pytest.mark.parametrize("guard", WITH_FACTOR)
def test_a_user_with_a_second_factor_confirms_by_its_code(guard, strict, stage):
    site, ada = strict
    stage.view = guard(echo)
    app = add_app(site, ada)
    browser = logged_in(site, ada, second_factor=False)
    refused = TestApp(site).get("/", headers=bearer(site, ada, second_factor=False), status=401)
    assert refused.json["code"] == "insufficient_user_authentication"
    sent = browser.post("/x", {"text": "x"}, headers=SAME_ORIGIN, status=302)
    assert sent.headers["Location"] == "/auth/confirm?resend=1&next=%2Fx"
    page = browser.get("/x", headers=BROWSER, status=302).follow(headers=BROWSER)
    assert "password" not in page.form.fields
    page.form["code"] = app.code()
    back = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert back.headers["Location"] == "/x"
    assert back.follow(headers=BROWSER, status=200).json["user"] == USERNAME


@pytest.mark.promise(57)
@pytest.mark.parametrize("guard", WITH_FACTOR)
def test_an_api_key_is_no_second_factor(guard, strict, stage):
    site, ada = strict
    stage.view = guard(echo)
    add_app(site, ada)
    TestApp(site).get("/", headers=api_key(site, ada, ["a.b"]), status=401)


def test_a_second_factor_that_was_proven_long_ago_is_not_fresh(strict, stage):
    site, ada = strict
    stage.view = login_required(second_factor=True, fresh=True)(echo)
    headers = bearer(site, ada, second_factor=True, confirmed_minutes_ago=16)
    refused = TestApp(site).get("/", headers=headers, status=401)
    assert 'max_age="900"' in refused.headers["WWW-Authenticate"]
    headers = bearer(site, ada, second_factor=True)
    TestApp(site).get("/", headers=headers, status=200)


def test_the_permission_is_checked_before_the_second_factor(strict, stage):
    site, _ = strict
    stage.view = permission_required("a.b", second_factor=True)(echo)
    TestApp(site).get("/", headers=bearer(site, make_user(site, "grace")), status=403)


def test_a_second_factor_costs_one_select_more(strict, stage, queries):
    site, ada = strict
    headers = bearer(site, ada, second_factor=True)
    stage.view = login_required(second_factor=True)(echo)
    assert len(queries(lambda: TestApp(site).get("/", headers=headers))) == 2


def test_where_there_are_no_second_factors_only_a_login_of_the_application_passes(site, stage, ada):
    stage.view = login_required(redirect_url="/auth/login", second_factor=True)(echo)
    refused = logged_in(site, ada).get("/", headers=BROWSER, status=401)
    refused.mustcontain("this site has none")
    logged_in(site, ada, second_factor=True).get("/", headers=BROWSER, status=200)


# The guards of features.


def admit_ada(environ, user):
    if environ["PATH_INFO"] == "/hidden":
        raise NotFoundError
    if environ["wsgiauth.key"] is not None:
        raise KeyNotAcceptedError
    if user.username != USERNAME:
        raise ForbiddenError("Only Ada can open this page.")


def test_a_function_decides_whom_the_guard_of_a_feature_admits(site, stage):
    stage.view = make_guard(admit_ada)(echo)
    ada, grace = (make_user(site, name) for name in (USERNAME, "grace"))
    client = TestApp(site)
    client.get("/", headers=bearer(site, ada), status=200)
    refused = client.get("/", headers=bearer(site, grace), status=403)
    assert (refused.json["code"], refused.json["detail"]) == (
        "forbidden",
        "Only Ada can open this page.",
    )
    client.get("/hidden", headers=bearer(site, ada), status=404)
    refused = client.get("/", headers=api_key(site, ada), status=403)
    assert 'error="insufficient_scope"' in refused.headers["WWW-Authenticate"]


async def admit_later(environ, user):
    raise ForbiddenError("Never run.")


@pytest.mark.promise(105)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("check", [lambda environ, user: False, admit_later])
def test_a_check_that_returns_something_admits_no_user(site, stage, check):
    stage.view = make_guard(check)(echo)
    with pytest.raises(TypeError, match=r"of a guard returned "):
        TestApp(site).get("/", headers=bearer(site, make_user(site)))


def test_the_guard_of_a_feature_asks_nothing_about_a_stranger(site, stage):
    stage.view = make_guard(admit_ada, redirect_url="/auth/login")(echo)
    assert TestApp(site).get("/hidden", status=401).headers["WWW-Authenticate"] == CHALLENGE
    assert "/auth/login" in TestApp(site).get("/hidden", headers=BROWSER, status=302).location
