"""What the guards refuse when they decorate it, and which WSGI callables they never refuse.

The views of real frameworks are in `tests/frameworks/test_framework_views.py`.
"""

import functools
import operator
import sys
from types import ModuleType
from wsgiref.simple_server import demo_app
from wsgiref.validate import validator

import pytest
from webob import Request
from webob.dec import wsgify

from tests.support.sites import echo
from wsgiauth import AuthMiddleware, login_required, permission_required

GUARDS = {
    "login_required": login_required,
    "permission_required": permission_required("reports.publish"),
}


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
    def short(self, env, start):
        """Take names of its own."""

    def anything(self, *args):
        """Take anything."""

    def two_dots(this, environ, start_response):  # noqa: N805
        """Call itself something else."""

    @classmethod
    def of_class(cls, environ, start_response):
        """Belong to the class."""

    @staticmethod
    def static(environ, start_response):
        """Belong to none."""

    @wsgify
    def wsgified(self, request):
        """Take a request of WebOb."""

    def __call__(self, environ, start_response):
        """Be a WSGI callable."""


class Iterated:
    def __init__(self, environ, start_response):
        pass


class Created:
    def __new__(cls, environ, start_response):
        return []


class InC:
    __call__ = operator.itemgetter(0)


LEGITIMATE = {
    "usual names": echo,
    "short names": lambda env, start: [],
    "one letter": lambda e, s: [],
    "names like those of Node": lambda env, res: [],
    "a request and start_response": lambda request, start_response: [],
    "a request and _start": lambda req, _start: [],
    "a request and respond": lambda req, respond: [],
    "a context": lambda context, start: [],
    "positional only": lambda environ, start_response, /: [],
    "defaults": lambda environ, start_response, body=b"": [],
    "any arguments": lambda *args: [],
    "an environ and more": lambda environ, *args, **kwargs: [],
    "a third argument": lambda this, environ, start_response: [],
    "keywords with defaults": lambda environ, start_response, *, body=b"": [],
    "a partial": functools.partial(lambda body, environ, start_response: [], b""),
    "a partial of keywords": functools.partial(lambda body, e, s: [], body=b""),
    "a function of the standard library": demo_app,
    "a function in a function": validator(echo),
    "a function in C": operator.itemgetter(0),
    "a class in C": zip,
    "a class whose __call__ is in C": InC,
    "an instance": Api(),
    "a method in the body of its class": Api.short,
    "a method that takes anything": Api.anything,
    "a method without self": Api.two_dots,
    "a bound method": Api().short,
    "a bound method that takes anything": Api().anything,
    "a class method": Api.of_class,
    "a static method": Api.static,
    "a static method before it is bound": vars(Api)["static"],
    "wsgify": wsgify(lambda request: None),
    "wsgify of anything": wsgify(lambda req, *args, **kwargs: None),
    "wsgify in a class": Api().wsgified,
    "wsgify in the body of its class": vars(Api)["wsgified"],
    "a decorator's function": by_request(lambda request: None),
    "a decorator's function with a signature": by_request(
        with_signature(lambda request: None, "(request)")
    ),
    "a class of instances": type("View", (Api,), {}),
    "a class that is called": Iterated,
    "a class that makes something else": Created,
    "a guarded function": login_required(echo),
    "a guarded class": login_required(type("View", (Api,), {})),
}


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
@pytest.mark.parametrize("app", LEGITIMATE.values(), ids=LEGITIMATE)
def test_no_wsgi_callable_is_refused(guard, app):
    assert callable(guard(app))


def test_no_object_is_looked_for_behind_the_proxies_of_a_module(monkeypatch):
    """It can be there only in a request, as with those of Werkzeug."""

    class Proxy:
        def __getattr__(self, name):
            pytest.fail(f"{name} was read")

        __class__ = property(lambda self: self.found)

    module = ModuleType("views")
    module.request = Proxy()
    exec("def view(request): ...", vars(module))  # noqa: S102 - as an import does
    monkeypatch.setitem(sys.modules, "views", module)
    with pytest.raises(TypeError, match="ith Flask, use"):
        login_required(module.view)


def test_a_view_of_no_module_is_refused():
    seen = {"__name__": "no.module"}
    exec("def view(request): ...", seen)  # noqa: S102 - as a shell does
    with pytest.raises(TypeError, match="ith Flask, use"):
        login_required(seen["view"])


def test_the_middleware_itself_is_not_refused(settings):
    assert callable(login_required(AuthMiddleware(echo, settings)))


async def asynchronous(scope, receive, send):
    """Be an application of ASGI."""


async def streaming(environ, start_response):
    yield b""


class Resource:
    """Has responders, like those of Falcon and of Flask's MethodView."""

    def on_get(self, req, resp):
        """Take no environ."""

    def get(self, user_id):
        """Take a part of the URL."""

    async def later(self, environ, start_response):
        """Return no iterable."""


class Middleware:
    """Like those of Django."""

    def __call__(self, request):
        """Take no environ."""


class Later:
    async def __call__(self, environ, start_response):
        """Return no iterable."""


class ByRequest:
    """Like the view classes of Pyramid."""

    def __init__(self, request):
        pass


class ByContext:
    def __init__(self, context, request):
        pass


VIEWS = {
    "nothing": lambda: "",
    "a part of the URL": lambda user_id: "",
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
    "a root and a request": lambda root, request: "",
    "a method with a key": Resource.get,
    "a method with a request": Resource.on_get,
    "a bound method": Resource().on_get,
    "a class of responders": Resource,
    "a class with a request": ByRequest,
    "a class with a context": ByContext,
    "a class of instances that take a request": Middleware,
    "an instance that takes a request": Middleware(),
    "an asynchronous function": asynchronous,
    "an asynchronous generator": streaming,
    "an asynchronous method": Resource.later,
    "an asynchronous instance": Later(),
    "a class of asynchronous instances": Later,
}


@pytest.mark.parametrize(("name", "guard"), GUARDS.items(), ids=GUARDS)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_is_refused_with_the_guards_of_all_frameworks(name, guard, view):
    with pytest.raises(TypeError) as refused:
        guard(view)
    message = str(refused.value)
    assert message.startswith(f"{name} guards WSGI callables, which take environ and start_resp")
    assert f"{view!r} does not. With Bottle, use the guard" in message
    for guards in (
        f"; with Flask, use wsgiauth.contrib.flask.{name}",
        f"django.contrib.auth.decorators.{name} or wsgiauth.contrib.django.{name}",
        "with Pyramid, use permission= of the view and wsgiauth.contrib.pyramid",
        "with Falcon, use the guard of its section in docs/frameworks.md",
    ):
        assert guards in message
