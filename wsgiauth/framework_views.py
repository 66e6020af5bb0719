"""The refusal of a framework's view by the guards for WSGI callables, when they decorate it.

A WSGI callable is never refused, whatever its parameters are called. So some views are accepted;
the first request of such a view fails.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from inspect import Parameter
from types import FunctionType, MethodType, ModuleType
from typing import Any

_RECIPE = "the guard of its section in docs/frameworks.md"
# What to use instead, by the framework's package.
_INSTEAD = {
    "bottle": f"with Bottle, use {_RECIPE}",
    "cherrypy": f"with CherryPy, use {_RECIPE}",
    "django": (
        "with Django, use django.contrib.auth.decorators.{guard} or wsgiauth.contrib.django.{guard}"
    ),
    "falcon": f"with Falcon, use {_RECIPE}",
    "flask": "with Flask, use wsgiauth.contrib.flask.{guard}",
    "pyramid": "with Pyramid, use permission= of the view and wsgiauth.contrib.pyramid",
}
_REQUESTS = ("request", "req")
# How the name of `start_response` can begin, even if the environ is called `request`.
_START_RESPONSE = ("start", "respond", "sr")
_KEYS = ("id", "pk", "slug")  # parts of a URL, which frameworks pass as arguments
_NAMED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def refuse_framework_view(app: Callable[..., Any], guard: str) -> None:
    """Raise TypeError, which names the guard to use instead, if `app` is a framework's view.

    Args:
        app: The callable that `guard` decorates.
        guard: The name of the guard.
    """
    function = _called(app)
    if function is None or _has_shape(function, has_telling_names=function is app):
        return
    instead = [_INSTEAD[name] for name in _frameworks_of(app, function) or _INSTEAD]
    advice = "; ".join(instead).format(guard=guard)
    raise TypeError(
        f"{guard} guards WSGI callables, which take environ and start_response;"
        f" {app!r} does not. {advice[0].upper()}{advice[1:]}."
    )


def _called(app: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the class, function or method whose parameters a request fills, if that is sure."""
    if isinstance(app, type):
        has_call = any("__call__" in vars(each) for each in app.__mro__)
        function = app.__call__ if has_call else app
    else:
        function = app if type(app) in (FunctionType, MethodType) else type(app).__call__
    is_known = isinstance(function, type) or type(function) in (FunctionType, MethodType)
    # A decorator copies the `__signature__` of the function that it makes a WSGI callable.
    return function if is_known and not hasattr(function, "__signature__") else None


def _has_shape(function: Callable[..., Any], *, has_telling_names: bool) -> bool:
    """Return whether this can be a WSGI callable, by the number and the names of its parameters.

    Those of `__call__` have no telling names: an object like `wsgify` takes a request as well.
    """
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return False
    try:
        signature = inspect.signature(function, follow_wrapped=False)  # a decorator's own
    except (TypeError, ValueError):  # of a class in C
        return True
    parameters = list(signature.parameters.values())
    numbers = [2, 3]  # three for a method in the body of its class
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0], numbers[1]
    rest = signature.replace(parameters=parameters)
    if not any(_takes(rest, number) for number in numbers):
        return False
    if not has_telling_names:
        return True
    named = [each.name for each in parameters if each.kind in _NAMED]
    first, second = [*named, "", ""][:2]
    if second in _REQUESTS:  # `context, request` of Pyramid
        return False
    if first in _REQUESTS:
        return second.lstrip("_").startswith(_START_RESPONSE)
    return not (first in _KEYS or first.endswith("_id"))


def _takes(signature: inspect.Signature, number: int) -> bool:
    try:
        signature.bind(*[None] * number)
    except TypeError:
        return False
    return True


def _frameworks_of(app: Callable[..., Any], function: Callable[..., Any]) -> list[str]:
    """Return the frameworks of a class, or else those that the module of the view imports."""
    kind = app if isinstance(app, type) else type(app)
    of_kind = _of_packages(each.__module__ for each in kind.__mro__)
    module = sys.modules.get(function.__module__)  # None for code that was executed elsewhere
    return of_kind or _of_packages(_modules_in(getattr(module, "__dict__", {})))


def _modules_in(names: dict[str, Any]) -> Iterator[str]:
    for value in names.values():
        kind = type(value)  # not `isinstance`: Werkzeug's proxies have an object only in a request
        if kind is ModuleType:
            yield value.__name__
        else:
            named = value if issubclass(kind, type) or kind is FunctionType else kind
            yield str(named.__module__)


def _of_packages(modules: Iterator[str]) -> list[str]:
    return sorted({each.partition(".")[0] for each in modules} & _INSTEAD.keys())
