"""The views that the guards refuse, and the WSGI callables that they never refuse.

The views of real frameworks are in `tests/frameworks/test_framework_views.py`.
"""

import functools
import operator
from wsgiref.simple_server import demo_app
from wsgiref.validate import validator

import pytest
from webob import Request
from webob.dec import wsgify

from tests.support.sites import echo
from wsgiauth import AuthMiddleware, login_required, permission_required


def by_request(view):
    """Return a WSGI callable that keeps all that says what the view takes."""

    @functools.wraps(view)
    def app(environ, start_response):
        return view(Request(environ))(environ, start_response)

    return app


def with_signature(view, signature):
    view.__signature__ = signature
    return view


class Api:
    def anything(self, *args):
        """Take anything."""

    def two_dots(this, environ, start_response):  # noqa: N805
        """Call itself something else."""


class InC:
    __call__ = operator.itemgetter(0)


# Besides the kinds of callables in `tests/test_guards.py`.
LEGITIMATE = {
    "short names": lambda env, start: [],
    "one letter": lambda e, s: [],
    "names like those of Node": lambda env, res: [],
    "a request and start_response": lambda request, start_response: [],
    "a request and _start": lambda req, _start: [],
    "a request and respond": lambda req, respond: [],
    "a request and sr": lambda req, sr: [],
    "a context": lambda context, start: [],
    "positional only": lambda environ, start_response, /: [],
    "defaults": lambda environ, start_response, body=b"": [],
    "any arguments": lambda *args: [],
    "an environ and more": lambda environ, *args, **kwargs: [],
    "a third argument": lambda this, environ, start_response: [],
    "keywords with defaults": lambda environ, start_response, *, body=b"": [],
    "a partial of keywords": functools.partial(lambda body, e, s: [], body=b""),
    "a function of the standard library": demo_app,
    "a function in a function": validator(echo),
    "a function in C": operator.itemgetter(0),
    "a class in C": zip,
    "a class whose __call__ is in C": InC,
    "a method that takes anything": Api.anything,
    "a method without self": Api.two_dots,
    "a bound method that takes anything": Api().anything,
    "wsgify of anything": wsgify(lambda req, *args, **kwargs: None),
    "a decorator's function": by_request(lambda request: None),
    "a decorator's function with a signature": by_request(
        with_signature(lambda request: None, "(request)")
    ),
}


def test_no_wsgi_callable_is_refused():
    for app in LEGITIMATE.values():
        assert callable(login_required(app))


def test_the_middleware_itself_is_not_refused(settings):
    assert callable(login_required(AuthMiddleware(echo, settings)))


async def asynchronous(environ, start_response):
    """Return no iterable."""


class Resource:
    """Has responders, like those of Falcon and of Flask's MethodView."""

    def on_get(self, req, resp):
        """Take no environ."""

    def get(self, user_id):
        """Take a part of the URL."""

    async def later(self, environ, start_response):
        """Return no iterable."""


class Page:
    """Like a view class of Flask, whose `as_view` is not what its guard guards."""

    def __init__(self, model, template):
        pass


class ByRequest:
    """Like a view class of Pyramid; each of its methods can be a view."""

    def __call__(self):
        """Take no environ."""


class Later:
    async def __call__(self, environ, start_response):
        """Return no iterable."""


VIEWS = {
    "nothing": lambda: "",
    "a part of the URL": lambda name: "",
    "two parts of the URL": lambda user_id, page: "",
    "a key and another": lambda pk, page: "",
    "keywords": lambda **kwargs: "",
    "a request": lambda request: "",
    "a request and a key": lambda request, pk: "",
    "a request and two keys": lambda request, year, month: "",
    "a request and anything": lambda request, *args, **kwargs: "",
    "a request and a keyword": lambda request, *, page: "",
    "a request and a response": lambda req, resp: "",
    "a context and a request": lambda context, request: "",
    "a method with a key": Resource.get,
    "a method with a request": Resource.on_get,
    "a bound method": Resource().on_get,
    "a class of responders": Resource,
    "a class with two parameters": Page,
    "a class of instances that take nothing": ByRequest,
    "an instance that takes nothing": ByRequest(),
    "an asynchronous function": asynchronous,
    "an asynchronous method": Resource.later,
    "an asynchronous instance": Later(),
}


def test_a_view_is_refused_when_it_is_decorated():
    for name, view in VIEWS.items():
        for guard in (login_required, permission_required("reports.publish")):
            with pytest.raises(TypeError) as refused:
                guard(view)
            assert f"{view!r} does not. If another decorator makes" in str(refused.value), name


OTHERWISE = [
    ((), {}),  # nothing
    ((), {"year": 2000}),  # a part of the URL
    ((Request({}),), {}),  # a request
    ((Request({}), print), {}),  # a request and a callable
    (({},), {}),  # an environ alone
    (({}, "response"), {}),  # an environ and no callable
    (({}, print), {"year": 2000}),  # an environ and more
]


def test_a_view_that_is_called_otherwise_is_not_entered():
    @login_required
    def view(*args, **kwargs):
        pytest.fail("the view was entered")

    for arguments, keywords in OTHERWISE:
        with pytest.raises(TypeError, match="which take environ and start_response"):
            view(*arguments, **keywords)
