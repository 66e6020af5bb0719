"""Python names with their signatures, settings, and the fixtures of pytest."""

import importlib
import inspect
import pkgutil
import re
import types
import typing
from dataclasses import fields

import django
from django.conf import settings

from wsgiauth import Settings, contrib, extend, pytest_plugin
from wsgiauth.settings.kinds import declarations

# Whose value depends on the machine.
DEFAULTS = {"HASHING_THREADS": "the processors"}


def lines():
    """Yield the lines of each public module, of the settings and of the fixtures."""
    settings.configure(
        INSTALLED_APPS=[
            *("django.contrib.contenttypes", "django.contrib.auth", "wsgiauth.contrib.django")
        ]
    )
    django.setup()  # without which its adapter cannot be imported
    found = {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in map(importlib.import_module, modules())
        for name in public_names(module)
    }
    public = {id(each) for each in found.values()}  # a proxy cannot be compared
    for name, each in found.items():
        yield from described(f"python {name}", each, public)
    yield from provisional(public)
    for each in fields(Settings):
        default = DEFAULTS.get(each.name, repr(each.default))
        expected = declarations(Settings)[each.name].expected
        yield f"setting {each.name}: {expected}; default {default}"
    for name in vars(pytest_plugin):
        if name.startswith("wsgiauth_"):
            yield f"fixture {name}"


def modules():
    """Yield the names of the modules from which applications import."""
    yield from ("wsgiauth", "wsgiauth.events", "wsgiauth.exceptions", "wsgiauth.testing")
    for each in pkgutil.iter_modules(contrib.__path__, "wsgiauth.contrib."):
        yield each.name
    yield from ("wsgiauth.contrib.django.rest", "wsgiauth.contrib.django.testing")


def provisional(stable):
    """Yield the names of the public door for features, and what they have, as parts of its line."""
    yield "provisional wsgiauth.extend"
    found = {
        f"{module.__name__}.{name}".removeprefix("wsgiauth.extend."): getattr(module, name)
        for module in map(importlib.import_module, doors())
        for name in public_names(module)
    }
    public = stable | {id(each) for each in found.values()}
    for name, each in found.items():
        yield f"provisional wsgiauth.extend | {name}"
        if id(each) not in stable:
            for line in described(name, each, public):
                _name, separator, part = line.partition(" | ")
                end = part if part.startswith("(") else f".{part}"
                yield f"provisional wsgiauth.extend | {name}{end if separator else ''}"


def doors():
    """Yield the names of the modules from which features of others import."""
    yield "wsgiauth.extend"
    for each in pkgutil.iter_modules(extend.__path__, "wsgiauth.extend."):
        yield each.name


def public_names(module):
    """Return the names in `__all__`, or the names that the module defines."""
    at_home = [
        name
        for name, found in vars(module).items()
        if not name.startswith("_") and getattr(found, "__module__", None) == module.__name__
    ]
    return getattr(module, "__all__", at_home)


def described(line, found, public):
    """Yield the line of a name, with its signature, and lines of the members of a class.

    Members of another public class are among the lines of that class.
    """
    yield line
    if inspect.isfunction(found):
        yield f"{line} | {signature(found)}"
    if not inspect.isclass(found):
        return
    own = [each for each in found.__mro__ if each.__module__.startswith("wsgiauth.")]
    if found is not Settings:  # which has the settings
        for each in own:
            makes = vars(each).get("__init__") or vars(each).get("__new__")
            if makes is not None:
                yield f"{line} | {signature(makes)}"
                break
    for each in [each for each in own if each is found or id(each) not in public]:
        for name in documented_attributes(each):
            yield f"{line} | {name}"
        for name, member in vars(each).items():
            member = getattr(member, "__func__", member)  # of a class method
            if not name.startswith("_") and inspect.isfunction(member):
                yield f"{line} | {name}{signature(getattr(found, name))}"
            elif not name.startswith("_") and isinstance(member, property):
                yield f"{line} | {name}"


def documented_attributes(kind):
    """Yield the attributes that a docstring lists, except internal ones."""
    listed = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    for names, text in re.findall(r"^ {4}(\w[\w, ]*): (.*)", listed, re.MULTILINE):
        if not text.startswith("Internal"):
            yield from names.split(", ")


def signature(function):
    """Return the parameters of a function and what it returns, alike in every Python."""
    found = inspect.signature(function)
    shown = [
        each.replace(
            annotation=bare(each.annotation, spelt(each.annotation)),
            default=bare(each.default, value(each.default)),
        )
        for each in found.parameters.values()
        if each.name not in ("self", "cls", "_cls")
    ]
    result = bare(found.return_annotation, spelt(found.return_annotation))
    return str(found.replace(parameters=shown, return_annotation=result))


class Bare(str):
    """A string that a signature shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def bare(found, text):
    """Return what a signature shows for an annotation or a default; nothing for a missing one."""
    return found if found is inspect.Parameter.empty else Bare(text)


def value(default):
    """Return a default as it is written, or "..." if Python could show it otherwise."""
    is_simple = isinstance(default, bool | int | float | str | tuple | None)
    return repr(default) if is_simple else "..."


def spelt(annotation):
    """Return an annotation without the modules of its names."""
    if isinstance(annotation, str):
        return annotation
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, list):
        return f"[{', '.join(map(spelt, annotation))}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(spelt, arguments))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(spelt, arguments))}]"
    if annotation is ...:
        return "..."
    if annotation is types.NoneType:
        return "None"
    if isinstance(annotation, typing.ForwardRef):
        return annotation.__forward_arg__
    return getattr(annotation, "__name__", str(annotation))
