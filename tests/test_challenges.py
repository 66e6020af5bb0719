"""`AuthMiddleware(challenge=True)`: a 401 of the application, answered as a guard would."""

import io
import sys
from types import SimpleNamespace
from urllib.request import urlopen
from wsgiref.util import FileWrapper
from wsgiref.validate import validator

import pytest
from webob import Request, exc
from webob.dec import wsgify
from webtest import TestApp

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, login_required, storage

CHALLENGE = 'Bearer realm="wsgiauth"'
INVALID_TOKEN = 'Bearer realm="wsgiauth", error="invalid_token"'

PLAIN = ("Content-Type", "text/plain")
COOKIE = ("Set-Cookie", "theme=dark; Path=/")
UNAUTHORIZED = ("401 Unauthorized", [PLAIN, COOKIE, ("X-Powered-By", "an application")])
FINE = ("200 OK", [PLAIN])
FAILED = ("500 Internal Server Error", [PLAIN])
BODY = b"not for you"

ADDRESS = "/reports?page=2"
LOGIN_AND_BACK = "/auth/login?next=%2Freports%3Fpage%3D2"
UNSENT_AND_BACK = "/auth/login?done=unsent&next=%2Freports%3Fpage%3D2"


@pytest.fixture
def stage():
    """Return an application that shows whichever view a test puts on it."""
    return SimpleNamespace(view=echo)


@pytest.fixture
def application(stage):
    return lambda environ, start_response: stage.view(environ, start_response)


@pytest.fixture
def site(settings, application):
    middleware = AuthMiddleware(application, settings, challenge=True)
    yield middleware
    storage.discard_connection(storage.current())


class Server:
    """What a server does with the answer to one request, a step at a time (PEP 3333)."""

    def __init__(self, site, headers=BROWSER, **environ):
        self.environ = {**Request.blank(ADDRESS, headers=headers).environ, **environ}
        self.status = self.headers = None
        self.sent = []
        self.app_iter = site(self.environ, self.start_response)

    def start_response(self, status, headers, exc_info=None):
        if exc_info is not None and self.sent:
            raise exc_info[1].with_traceback(exc_info[2])
        assert exc_info is not None or self.status is None, "an answer begins once"
        self.status, self.headers = status, dict(headers)
        return self.sent.append

    def send(self):
        for chunk in self.app_iter:
            assert self.status is not None, "an answer begins before its first chunk"
            self.sent.append(chunk)
        return self

    def close(self):
        if hasattr(self.app_iter, "close"):
            self.app_iter.close()
        return self


class Body:
    """The chunks of an answer, begun with the first of them; it notes what is done with it."""

    def __init__(self, *chunks, begin=lambda: None):
        self.done = []
        self._begin = begin
        self._chunks = iter(chunks)

    def __iter__(self):
        return self

    def __next__(self):
        if "read" not in self.done:
            self._begin()
        self.done.append("read")
        return next(self._chunks)

    def close(self):
        self.done.append("closed")


def failure():
    """Return the `exc_info` of an exception that is being handled."""
    try:
        raise LookupError("of the application")
    except LookupError:
        return sys.exc_info()


# Every way in which an application can answer 401.


def a_list(environ, start_response):
    start_response(*UNAUTHORIZED)
    return [BODY]


def an_empty_list(environ, start_response):
    start_response(*UNAUTHORIZED)
    return []


def an_empty_chunk(environ, start_response):
    start_response(*UNAUTHORIZED)
    return [b""]


def an_iterator(environ, start_response):
    start_response(*UNAUTHORIZED)
    return Body(BODY, BODY)


def written(environ, start_response):
    write = start_response(*UNAUTHORIZED)
    write(BODY)
    return []


def a_generator(environ, start_response):
    start_response(*UNAUTHORIZED)
    yield BODY
    pytest.fail("the body was read on")


def a_generator_of_an_empty_chunk(environ, start_response):
    start_response(*UNAUTHORIZED)
    yield b""
    pytest.fail("the body was read on")


def a_generator_without_a_chunk(environ, start_response):
    start_response(*UNAUTHORIZED)
    yield from ()


def a_generator_that_writes(environ, start_response):
    start_response(*UNAUTHORIZED)(BODY)
    yield from ()


def a_late_iterator(environ, start_response):
    return Body(BODY, begin=lambda: start_response(*UNAUTHORIZED))


class AClass:
    def __init__(self, environ, start_response):
        self._start_response = start_response

    def __iter__(self):
        self._start_response(*UNAUTHORIZED)
        yield BODY


def a_change_of_mind(environ, start_response):
    start_response(*FINE)
    start_response(*UNAUTHORIZED, failure())
    return [BODY]


def a_generators_change_of_mind(environ, start_response):
    start_response(*FINE)
    start_response(*UNAUTHORIZED, failure())
    yield BODY


def a_second_401(environ, start_response):
    start_response("401 Unauthorized", [PLAIN, ("Set-Cookie", "first=1")])
    start_response(*UNAUTHORIZED, failure())
    return [BODY]


def a_status_without_a_reason(environ, start_response):
    start_response("401 ", UNAUTHORIZED[1])
    return [BODY]


@wsgify
def a_webob_response(request):
    response = request.ResponseClass(BODY, status=401)
    response.set_cookie("theme", "dark")
    return response


@wsgify
def a_webob_exception(request):
    raise exc.HTTPUnauthorized(headers=[COOKIE])


@wsgify.middleware
def a_cookie_setter(request, app):
    response = request.get_response(app)
    response.set_cookie("theme", "dark")
    return response


a_guarded_view = a_cookie_setter(login_required(echo))

ANSWERS = {
    "list": a_list,
    "empty list": an_empty_list,
    "empty chunk": an_empty_chunk,
    "iterator": an_iterator,
    "write": written,
    "generator": a_generator,
    "generator of an empty chunk": a_generator_of_an_empty_chunk,
    "generator without a chunk": a_generator_without_a_chunk,
    "generator that writes": a_generator_that_writes,
    "late iterator": a_late_iterator,
    "class": AClass,
    "401 after 200": a_change_of_mind,
    "generator's 401 after 200": a_generators_change_of_mind,
    "401 after 401": a_second_401,
    "no reason phrase": a_status_without_a_reason,
    "wsgify's response": a_webob_response,
    "wsgify's exception": a_webob_exception,
    "login_required": a_guarded_view,
}


def ask_each(site, stage, **request):
    """Yield the name of each of these ways, and what becomes of it; both sides are validated."""
    client = TestApp(validator(site))
    for name, view in ANSWERS.items():
        stage.view = validator(view)
        yield name, client.request(ADDRESS, status="*", **request)


# What becomes of it.

PREFIX = {"SCRIPT_NAME": "/shop"}
BELOW_PREFIX = "/shop/auth/login?next=%2Fshop%2Freports%3Fpage%3D2"
STALE = {**BROWSER, "Cookie": "wsgiauth=x.y.z"}


def redirect_of(answer):
    """Return where an answer leads, its cookie and its body."""
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    length = answer.headers["Content-Length"]
    return answer.status_int, answer.headers["Location"], cookie, answer.body, length


@pytest.mark.promise(21)
def test_a_browser_is_sent_to_the_login_page(site, stage):
    answers = {name: redirect_of(answer) for name, answer in ask_each(site, stage, headers=BROWSER)}
    assert answers == dict.fromkeys(ANSWERS, (302, LOGIN_AND_BACK, "theme=dark", b"", "0"))


@pytest.mark.promise(21)
def test_a_browser_is_sent_there_however_it_asks(site, stage):
    client = TestApp(validator(site))
    for view in (a_list, a_late_iterator):
        stage.view = validator(view)
        for method, headers, prefix, location in (
            ("HEAD", BROWSER, {}, LOGIN_AND_BACK),
            ("POST", SAME_ORIGIN, {}, UNSENT_AND_BACK),
            ("GET", STALE, {}, LOGIN_AND_BACK),
            ("GET", BROWSER, PREFIX, BELOW_PREFIX),
        ):
            answer = client.request(ADDRESS, environ=prefix, method=method, headers=headers)
            assert redirect_of(answer) == (302, location, "theme=dark", b"", "0"), view


DETAILS = {
    "unauthenticated": "Log in to open this page.",
    "invalid_token": "This token or API key is invalid, expired or revoked.",
}


def check_challenge(answer, code, challenge):
    assert answer.headers.getall("WWW-Authenticate") == [challenge]
    assert answer.content_type == "application/problem+json"
    assert answer.json == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "detail": DETAILS[code],
        "code": code,
    }
    assert answer.headers["Set-Cookie"].startswith("theme=dark")


@pytest.mark.promise(21)
def test_a_program_is_challenged(site, stage):
    for name, answer in ask_each(site, stage):
        assert answer.status_int == 401, name
        check_challenge(answer, "unauthenticated", CHALLENGE)


@pytest.mark.promise(21)
def test_a_program_is_challenged_by_what_it_has_sent(site, stage):
    client = TestApp(validator(site))
    for view in (a_list, a_late_iterator):
        stage.view = validator(view)
        another_scheme = client.get(ADDRESS, headers={"Authorization": "Basic eDp5"}, status=401)
        check_challenge(another_scheme, "unauthenticated", CHALLENGE)
        bad_token = client.get(ADDRESS, headers={"Authorization": "Bearer x.y.z"}, status=401)
        check_challenge(bad_token, "invalid_token", INVALID_TOKEN)


@pytest.mark.promise(21)
def test_a_challenge_in_the_place_of_another_answer_tells_the_server_so(site, stage):
    for view in (a_change_of_mind, a_generators_change_of_mind):
        stage.view = view
        server = Server(site).send().close()  # which knows by the `exc_info`
        assert (server.status, server.headers["Location"]) == ("302 Found", LOGIN_AND_BACK)


def test_a_programs_head_gets_the_headers_alone(site, stage):
    heads, whole = ask_each(site, stage, method="HEAD"), ask_each(site, stage)
    for (name, head), (_, get) in zip(heads, whole, strict=True):
        assert (name, head.status_int, head.body) == (name, 401, b"")
        assert sorted(head.headerlist) == sorted(get.headerlist), name


def test_a_browser_with_a_bad_token_gets_the_page_of_the_challenge(client, stage):
    stage.view = a_list
    headers = {**BROWSER, "Authorization": "Bearer x.y.z"}
    refused = client.get(ADDRESS, headers=headers, status=401)
    assert refused.headers["WWW-Authenticate"] == INVALID_TOKEN
    refused.mustcontain(DETAILS["invalid_token"], f'href="{LOGIN_AND_BACK}"')


def test_below_another_mount_the_login_page_is_there(settings):
    client = TestApp(AuthMiddleware(a_list, settings, mount="/my/account", challenge=True))
    answer = client.get(ADDRESS, headers=BROWSER, status=302)
    assert answer.headers["Location"] == "/my/account/login?next=%2Freports%3Fpage%3D2"
    answer.follow(headers=BROWSER, status=200)


def test_the_redirect_leads_through_the_login_page_back_to_the_page(client, stage, ada):
    stage.view = login_required(echo)
    form = client.get(ADDRESS, headers=BROWSER).follow(headers=BROWSER).form
    form["username"], form["password"] = USERNAME, PASSWORD
    page = form.submit(headers=SAME_ORIGIN).follow(headers=BROWSER)
    assert (page.request.path_qs, page.json["user"]) == (ADDRESS, USERNAME)


def with_headers(begin, headers):
    """Return a view that answers 401 with other headers than `begin`."""
    return lambda environ, start_response: begin(
        environ, lambda status, _: start_response(status, headers)
    )


@pytest.mark.parametrize("begin", [a_list, a_generator], ids=["at once", "late"])
def test_cookies_and_what_other_origins_are_told_are_kept_and_no_other_headers(
    client, stage, begin
):
    cookies = [("Set-Cookie", "theme=dark"), ("set-cookie", "theme=; Max-Age=0; Path=/old")]
    origins = [("Access-Control-Allow-Origin", "https://b.example"), ("Vary", "Origin")]
    others = [PLAIN, ("Content-Length", str(len(BODY))), ("ETag", '"x"'), ("Location", "/x")]
    stage.view = with_headers(begin, [*cookies, *origins, *others])
    for headers in (BROWSER, {}):
        answer = client.get(ADDRESS, headers=headers, status="*")
        assert answer.headers.getall("Set-Cookie") == [value for _, value in cookies]
        assert [(name, answer.headers.get(name)) for name, _ in origins] == origins
        assert "ETag" not in answer.headers
        assert answer.headers.getall("Content-Length") == [str(len(answer.body))]
        assert answer.headers.getall("Location") == [LOGIN_AND_BACK] * (headers is BROWSER)


BEARER = [
    None,  # none
    "Bearer",  # bare
    'bearer realm="api"',  # realm
    'BEARER error="x",error_uri="/x", scope="a b"',  # parameters
    # a comma in a string
    'Bearer error="invalid_token", error_description="It has expired, log in again"',
]


def test_a_bearer_challenge_of_the_application_becomes_ours(client, stage):
    for scheme in BEARER:
        challenge = [("www-authenticate", scheme)] if scheme else []
        stage.view = with_headers(a_list, [PLAIN, *challenge])
        answer = client.get(ADDRESS, status=401)
        assert answer.headers.getall("WWW-Authenticate") == [CHALLENGE], scheme
        client.get(ADDRESS, headers=BROWSER, status=302)


# The application's own request.


def shift(environ):
    environ["SCRIPT_NAME"] += environ["PATH_INFO"]
    environ["PATH_INFO"] = environ["QUERY_STRING"] = ""


def take_another_method(environ):
    environ["REQUEST_METHOD"] = "POST"


def delete(environ):
    for name in [*environ]:
        if name.startswith("wsgiauth.") or name in ("HTTP_ACCEPT", "PATH_INFO", "SCRIPT_NAME"):
            del environ[name]


def after(change, begin):
    """Return a view that changes its environ first."""

    def change_and_begin(environ, start_response):
        change(environ)
        return begin(environ, start_response)

    return change_and_begin


def test_what_the_application_does_to_its_environ_changes_no_redirect(site, stage):
    for change in (shift, take_another_method, delete, dict.clear):
        for begin in (a_list, a_generator):
            stage.view = after(change, begin)
            server = Server(site).send().close()
            assert (server.status, server.headers["Location"]) == ("302 Found", LOGIN_AND_BACK), (
                change
            )


def test_the_application_gets_the_servers_environ_itself(site, stage):
    seen = []

    def look(environ, start_response):
        seen.append(environ)
        return a_list(environ, start_response)

    stage.view = look
    server = Server(site)
    assert seen[0] is server.environ


# The application's body.


@pytest.mark.promise(21)
def test_the_body_of_a_401_is_closed_and_never_read(site, stage):
    body = Body(BODY)

    def refuse(environ, start_response):
        start_response(*UNAUTHORIZED)
        return body

    stage.view = refuse
    Server(site).send().close()
    assert body.done == ["closed"]


@pytest.mark.promise(21)
def test_the_body_of_a_late_401_is_read_no_further_and_closed(site, stage):
    bodies = []

    def refuse(environ, start_response):
        bodies.append(Body(BODY, BODY, begin=lambda: start_response(*UNAUTHORIZED)))
        return bodies[0]

    stage.view = refuse
    server = Server(site).send()
    assert (server.status, bodies[0].done) == ("302 Found", ["read"])
    server.close()
    assert bodies[0].done == ["read", "closed"]


@pytest.mark.promise(21)
def test_an_answer_that_begins_late_is_closed_once_when_the_client_leaves(site, stage):
    bodies = []

    def answer(environ, start_response):
        bodies.append(Body(b"one", b"two", begin=lambda: start_response(*FINE)))
        return bodies[-1]

    stage.view = answer
    for chunks_taken in (0, 1, 2):
        server = Server(site)
        chunks = iter(server.app_iter)
        taken = [next(chunks) for _ in range(chunks_taken)]
        assert taken == [b"one", b"two"][:chunks_taken]
        server.close()
        assert bodies[-1].done == ["read"] * chunks_taken + ["closed"]
        assert server.status == ("200 OK" if chunks_taken else None)


@pytest.mark.promise(21)
def test_an_answer_that_begins_late_is_passed_on_chunk_by_chunk(site, stage):
    bodies = []

    def answer(environ, start_response):
        bodies.append(Body(b"one", b"", b"two", begin=lambda: start_response(*FINE)))
        return bodies[0]

    stage.view = answer
    server = Server(site)
    assert server.status is None
    server.send().close()
    assert (server.status, server.sent) == ("200 OK", [b"one", b"", b"two"])
    assert bodies[0].done == ["read"] * 4 + ["closed"]


def test_an_answer_that_begins_late_need_not_have_anything_to_close(site, stage):
    class Answer:
        def __init__(self, environ, start_response):
            self._start_response = start_response

        def __iter__(self):
            self._start_response(*FINE)
            return iter([b"one"])

    stage.view = Answer
    server = Server(site).send().close()
    assert (server.status, server.sent) == ("200 OK", [b"one"])


# What is left as it is.


def answering(status, body):
    """Return a view with a status and a body."""

    def answer(environ, start_response):
        start_response(status, [PLAIN, COOKIE])
        return body

    return answer


OTHER_STATUSES = [
    "200 OK",
    "204 No Content",
    "302 Found",
    "400 Bad Request",
    "403 Forbidden",
    "407 Proxy",
    "500 X",
]


@pytest.mark.promise(21)
def test_an_answer_of_another_status_is_handed_on_unread(site, stage):
    for status in OTHER_STATUSES:
        body = Body(BODY)
        stage.view = answering(status, body)
        server = Server(site)
        assert body.done == []
        assert (server.status, server.headers) == (status, dict([PLAIN, COOKIE]))
        server.close()
        assert body.done == ["closed"]


@pytest.mark.promise(21)
def test_the_application_gets_what_the_servers_start_response_returns(site, stage):
    def write(environ, start_response):
        start_response(*FINE)(b"one")
        return [b"two"]

    stage.view = write
    assert Server(site).send().close().sent == [b"one", b"two"]


@pytest.mark.promise(21)
def test_a_file_is_left_to_the_servers_file_wrapper(site, stage):
    def send_file(environ, start_response):
        start_response(*FINE)
        return environ["wsgi.file_wrapper"](io.BytesIO(BODY))

    stage.view = send_file
    server = Server(site, **{"wsgi.file_wrapper": FileWrapper})
    assert type(server.app_iter) is FileWrapper
    with serving(site) as address, urlopen(address) as answer:
        # Waitress counts what it recognises as its own.
        assert (answer.headers["Content-Length"], answer.read()) == (str(len(BODY)), BODY)


def test_a_server_that_knows_no_exc_info_is_not_given_any(site, stage):
    began = []
    stage.view = echo
    site(Request.blank("/").environ, lambda status, headers: began.append(status))
    assert began == ["200 OK"]


OTHER_SCHEMES = [
    ['Basic realm="x"'],
    ["Negotiate"],
    ["Bearer", 'Basic realm="x"'],
    ['Basic realm="x"', "Bearer"],
    ['Bearer realm="x", Basic realm="x"'],  # both in one line
    ["Bearer, Negotiate"],  # both without parameters
    ["Negotiate, Bearer"],
]


def test_a_401_that_asks_for_another_scheme_is_left_to_the_application(client, stage):
    for schemes in OTHER_SCHEMES:
        challenges = [("Www-Authenticate", scheme) for scheme in schemes]
        stage.view = with_headers(a_list, [PLAIN, *challenges])
        for headers in (BROWSER, {}):
            answer = client.get(ADDRESS, headers=headers, status=401)
            assert (answer.body, answer.headers.getall("WWW-Authenticate")) == (BODY, schemes)


@pytest.mark.promise(21)
def test_a_401_to_a_user_is_left_to_the_application(site, stage, ada, bearer):
    for view in (a_list, a_late_iterator):
        stage.view = view
        server = Server(site, {**BROWSER, **bearer(ada)}).send().close()
        private = {"Cache-Control": "private", "Vary": "Authorization, Cookie"}
        assert (server.status, server.headers, server.sent) == (
            UNAUTHORIZED[0],
            {**dict(UNAUTHORIZED[1]), **private},
            [BODY],
        )


# A 403 to an anonymous client, on request.


def forbidden(environ, start_response):
    start_response("403 Forbidden", [PLAIN, COOKIE])
    return [BODY]


def a_late_403(environ, start_response):
    yield from forbidden(environ, start_response)


@pytest.fixture
def strict_site(settings, application):
    middleware = AuthMiddleware(application, settings, challenge="anonymous")
    yield middleware
    storage.discard_connection(storage.current())


def test_a_403_to_an_anonymous_client_becomes_the_challenge_too(strict_site, stage):
    client = TestApp(strict_site)
    for view in (forbidden, a_late_403, a_list):
        stage.view = view
        assert BODY not in client.get(ADDRESS, headers=BROWSER, status=302).body
        assert BODY not in client.get(ADDRESS, status=401).body


@pytest.mark.promise(21)
def test_a_403_to_a_user_is_left_to_the_application(strict_site, stage, ada, bearer):
    stage.view = forbidden
    answer = TestApp(strict_site).get(ADDRESS, headers={**BROWSER, **bearer(ada)}, status=403)
    assert answer.body == BODY


def a_500_after_all(environ, start_response):
    start_response(*UNAUTHORIZED)
    start_response(*FAILED, failure())
    return [b"sorry"]


def a_generators_500_after_all(environ, start_response):
    start_response(*UNAUTHORIZED)
    start_response(*FAILED, failure())
    yield b"sorry"


def test_a_401_that_becomes_another_failure_is_that_failure(site, stage):
    for view in (a_500_after_all, a_generators_500_after_all):
        stage.view = view
        server = Server(site).send().close()
        assert (server.status, server.headers) == (FAILED[0], dict(FAILED[1]))
        assert server.sent == [b"sorry"]


def test_a_401_that_comes_with_the_first_chunk_of_an_answer_that_has_begun_is_left(site, stage):
    def answer(environ, start_response):
        start_response(*FINE)

        def chunks():
            start_response(*UNAUTHORIZED, failure())
            yield BODY

        return chunks()

    stage.view = answer
    server = Server(site).send().close()
    assert (server.status, server.sent) == (UNAUTHORIZED[0], [BODY])


def a_401_after_a_chunk(environ, start_response):
    start_response(*FINE)
    yield b"one"
    start_response(*UNAUTHORIZED, failure())
    pytest.fail("the application was not stopped")


def a_401_after_a_chunk_of_a_list(environ, start_response):
    start_response(*FINE)

    def chunks():
        yield b"one"
        start_response(*UNAUTHORIZED, failure())
        pytest.fail("the application was not stopped")

    return chunks()


def a_401_after_a_write(environ, start_response):
    start_response(*FINE)(b"one")
    start_response(*UNAUTHORIZED, failure())
    pytest.fail("the application was not stopped")


def a_generators_401_after_a_write(environ, start_response):
    start_response(*FINE)(b"one")
    start_response(*UNAUTHORIZED, failure())
    pytest.fail("the application was not stopped")
    yield BODY


def noting(view, seen):
    """Return a view that appends each status with which the server's `start_response` returns."""

    def watch(environ, start_response):
        def note(*arguments):
            server = start_response(*arguments)
            seen.append(arguments[0])
            return server

        return view(environ, note)

    return watch


@pytest.mark.promise(21)
def test_a_401_after_the_headers_have_gone_out_stops_the_application(site, stage):
    for view in (
        a_401_after_a_chunk,
        a_401_after_a_chunk_of_a_list,
        a_401_after_a_write,
        a_generators_401_after_a_write,
    ):
        seen = []
        stage.view = noting(view, seen)
        with pytest.raises(LookupError, match="of the application"):
            Server(site).send()
        assert seen == ["200 OK"], view


# Failures of the application.


def fails_at_once(environ, start_response):
    raise LookupError


def fails_after_its_401(environ, start_response):
    start_response(*UNAUTHORIZED)
    raise LookupError


def fails_late(environ, start_response):
    raise LookupError
    yield BODY


def fails_late_after_its_401(environ, start_response):
    start_response(*UNAUTHORIZED)
    raise LookupError
    yield BODY


@pytest.mark.promise(21)
def test_an_exception_of_the_application_reaches_the_server(site, stage):
    began = []
    for view in (fails_at_once, fails_after_its_401, fails_late, fails_late_after_its_401):
        stage.view = view
        with pytest.raises(LookupError):
            list(site(Request.blank("/").environ, lambda *arguments: began.append(arguments)))
    assert began == []


# Without it.


def test_unless_asked_for_a_401_is_the_applications(settings):
    for options in ({}, {"challenge": False}):
        for headers in (BROWSER, {}):
            body = Body(BODY)
            app = answering("401 Unauthorized", body)
            server = Server(AuthMiddleware(app, settings, **options), headers)
            assert body.done == []
            assert (server.status, server.headers) == ("401 Unauthorized", dict([PLAIN, COOKIE]))


def test_the_answers_below_the_mount_are_no_applications_401(client):
    wrong = {"username": USERNAME, "password": "x"}
    assert client.post_json("/auth/login", wrong, status=401).json["code"] != "unauthenticated"
    client.post("/auth/login", wrong, headers=SAME_ORIGIN, status=401).mustcontain("<form")
