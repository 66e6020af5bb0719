"""The guards of `guards` refuse to decorate an object that is certainly no WSGI callable.

A guard refuses every call that is not WSGI's. But a framework calls some views without their guard:
a function whose guard is above its route, and the methods of a class.
"""

import inspect
import re
from collections.abc import Callable
from inspect import Parameter
from types import FunctionType, MethodType
from typing import Any

# The first two names of parameters. The environ of a WSGI callable can be called `request`, too.
_NAMES_OF_A_VIEW = re.compile(
    r"(req|request) (?!_*(start|respond|sr))|(id|pk|slug|\w*_id) |\w+ (req|request)$"
)
_FUNCTIONS = (FunctionType, MethodType)
_NAMED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def not_wsgi(app: object) -> TypeError:
    """Return the error for a guard on `app`, which names the guards to use instead."""
    return TypeError(
        "login_required and permission_required of wsgiauth guard WSGI callables, which take"
        f" environ and start_response; {app!r} does not. With Django, use the guards of"
        " django.contrib.auth.decorators or wsgiauth.contrib.django; with Flask, those of"
        " wsgiauth.contrib.flask; with Pyramid, permission= of the view and"
        " wsgiauth.contrib.pyramid; with another framework, see its section in docs/frameworks.md."
    )


def can_be_wsgi(app: Callable[..., Any]) -> bool:
    """Return whether `app` can be a WSGI callable, by the parameters that a request fills."""
    kind = app if isinstance(app, type) else type(app)
    if not any("__call__" in vars(each) for each in kind.__mro__):
        return hasattr(kind, "__iter__")  # an instance is the body of a response (PEP 3333)
    function = app if type(app) in _FUNCTIONS else kind.__call__
    # A decorator copies the `__signature__` of the function that it makes a WSGI callable.
    if type(function) not in _FUNCTIONS or hasattr(function, "__signature__"):
        return True
    signature = inspect.signature(function, follow_wrapped=False)  # a decorator's own
    parameters = list(signature.parameters.values())
    counts = [2, 3]  # three for a method in the body of its class
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0], counts[1]
    signature = signature.replace(parameters=parameters)
    if inspect.iscoroutinefunction(function) or not any(_takes(signature, n) for n in counts):
        return False
    first, second = [*(each.name for each in parameters if each.kind in _NAMED), "", ""][:2]
    # The names in `__call__` prove nothing: the `__call__` of `wsgify` takes a request, too.
    return function is not app or not _NAMES_OF_A_VIEW.match(f"{first} {second}")


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True
