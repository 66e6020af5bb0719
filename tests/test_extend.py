"""The public door for features of others: documented, typed, and with an example of each name."""

import ast
import importlib
import inspect
import re
import sys
import textwrap
import typing
from itertools import chain
from types import FunctionType

import pytest
from webtest import TestApp

from tests.support import door as surroundings
from tests.support.house import is_for_types
from tests.support.sites import echo
from wsgiauth import AuthMiddleware
from wsgiauth.extend import Endpoint, Feature, MemberSubmission, json_response, require_login
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_group, make_settings, make_user

DOOR = ("", ".console", ".one_time", ".openapi", ".samples", ".trusted_browsers")
DOORS = [importlib.import_module(f"wsgiauth.extend{each}") for each in DOOR]
OTHERS = [
    importlib.import_module(each)
    for each in ("wsgiauth", "wsgiauth.events", "wsgiauth.exceptions", "wsgiauth.testing")
]


def named_in(module):
    """Return the public names of a module with what they stand for."""
    own = (name for name, found in vars(module).items() if is_defined_in(found, module))
    return {name: getattr(module, name) for name in getattr(module, "__all__", own)}


def is_defined_in(found, module):
    return getattr(found, "__module__", None) == module.__name__


NAMES = [(door, name, found) for door in DOORS for name, found in named_in(door).items()]
ELSEWHERE = [found for module in OTHERS for found in named_in(module).values()]
# What the reference of another public module documents needs no example.
DOCUMENTED = {id(each) for each in ELSEWHERE}
OBJECTS = {
    f"{door.__name__}.{name}": (door, found)
    for door, name, found in NAMES
    if inspect.isclass(found) or inspect.isfunction(found)
    if id(found) not in DOCUMENTED and found.__module__.startswith("wsgiauth")
}
PUBLIC = [found for _door, _name, found in NAMES] + ELSEWHERE
# Types of which a feature has an object in its hands, because another one inherits from them.
BASES = chain.from_iterable(each.__mro__ for each in PUBLIC if inspect.isclass(each))
IDS = {*map(id, PUBLIC), *map(id, BASES)}

EACH = pytest.mark.parametrize("name", OBJECTS)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_the_door_says_what_each_of_its_names_is_for(door):
    """Also those of constants and of types, which have no docstring of their own."""
    said = set(re.findall(r"`(\w+)`", inspect.getdoc(door)))
    assert set(door.__all__) - said == set()
    assert [*door.__all__] == [*dict.fromkeys(door.__all__)]


def example_of(found):
    """Return the example in a docstring, or an empty string."""
    after = (inspect.getdoc(found) or "").partition("\nExample:\n")[2]
    return textwrap.dedent(re.split(r"^\S", after, flags=re.MULTILINE)[0])


class Running(Endpoint):
    """GET: runs an example."""

    program = ""

    def get(self, environ, site):
        """Run it as the code of an endpoint."""
        member = require_login(environ, site)
        names = {
            "environ": environ,
            "site": site,
            "settings": site.settings,
            "user": member.user,
            "ada": surroundings.User.get(surroundings.User.username == "ada"),
            "submission": MemberSubmission(environ=environ, site=site, fields={}, member=member),
        }
        exec(compile(self.program, "an example", "exec"), {**self.names, **names})  # noqa: S102 - our own
        return json_response({})


RUNNING = Running()
FEATURE = Feature(
    name="badges",
    settings=surroundings.BadgeSettings,
    urls={"/example": RUNNING},
    events=(surroundings.BADGE_GIVEN,),
    composers=lambda factors: dict.fromkeys(("badge", "badges"), lambda mail, settings, now: None),
)


@pytest.fixture(scope="module")
def example_site():
    site = AuthMiddleware(
        echo, make_settings(FEATURES=(FEATURE,), ADMIN_PANEL=True, MAIL_URL="memory:")
    )
    make_group(site, "Editors")
    make_user(site, "ada", email="ada@example.org")
    with context.using(site.database):
        site.database.create_tables([surroundings.Badge])
    return site


@pytest.fixture(scope="module")
def grace(example_site):
    return make_user(example_site, "grace", is_staff=True, is_superuser=True)


@EACH
def test_each_example_runs(example_site, grace, name):
    door, found = OBJECTS[name]
    RUNNING.program = example_of(found)
    assert RUNNING.program, "has no example"
    RUNNING.names = {**vars(surroundings), **named_in(door)}
    TestApp(example_site).get("/auth/example", headers=bearer(example_site, grace))


def is_internal(text):
    """Return whether a docstring says that it describes no interface of features."""
    return "Internal" in (text or "")


def internal_attributes(kind):
    """Return the attributes that the docstring of a class calls internal."""
    listed = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4}(\w[\w, ]*): ((?:.*)(?:\n {8}.*)*)", listed, re.MULTILINE)
    return {name for names, text in entries if is_internal(text) for name in names.split(", ")}


def own_classes(kind):
    """Return a class with the bases that the door does not have."""
    others = (each for each in kind.__mro__[1:] if each.__module__.startswith("wsgiauth"))
    return [kind, *(each for each in others if id(each) not in {*map(id, PUBLIC)})]


def annotated(found):
    """Yield the public annotations of a name: where they are, what they are, and their module."""
    if inspect.isfunction(found):
        yield from annotated_function(found, "", ())
        return
    hidden = set(chain.from_iterable(map(internal_attributes, found.__mro__)))
    for kind in own_classes(found):
        for name, annotation in inspect.get_annotations(kind).items():
            if not name.startswith("_") and name not in hidden:
                yield name, annotation, kind.__module__
        for name, member in vars(kind).items():
            function = getattr(member, "fget", getattr(member, "__func__", member))
            is_public = not name.startswith("_") or name == "__init__"
            is_own = isinstance(function, FunctionType) and function.__qualname__ == (
                f"{kind.__name__}.{name}"
            )
            if is_public and is_own and not is_internal(function.__doc__):
                yield from annotated_function(function, f"{name}: ", hidden)


def annotated_function(function, where, hidden):
    signature = inspect.signature(inspect.unwrap(function))
    for name, each in signature.parameters.items():
        if name not in ("self", "cls", *hidden):
            yield f"{where}{name}", each.annotation, function.__module__
    yield f"{where}return", signature.return_annotation, function.__module__


UNTYPED = (inspect.Parameter.empty, typing.Any, "Any")


@EACH
def test_each_name_has_complete_types(name):
    found = OBJECTS[name][1]
    assert inspect.getdoc(found)
    missing = [where for where, each, _ in annotated(found) if each in UNTYPED]
    # Keywords of JSON Schema have any value.
    assert {each.rpartition(": ")[2] for each in missing} <= {"keywords", "further"}


def types_in(annotation, module):
    """Yield the types that an annotation consists of."""
    if id(annotation) in IDS:
        return
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        annotation = evaluated(annotation, module)
    if isinstance(annotation, list | tuple):
        parts = annotation
    elif typing.get_origin(annotation) is typing.Literal:
        return
    elif isinstance(annotation, typing.TypeVar):
        parts = (annotation.__bound__, *annotation.__constraints__)
    else:
        parts = typing.get_args(annotation)
    if not isinstance(annotation, list | tuple | typing.TypeVar):
        yield typing.get_origin(annotation) or annotation
    for part in parts:
        yield from types_in(part, module)


def evaluated(text, module):
    """Return the type that a string stands for, also by what only type checkers import."""
    names = dict(vars(sys.modules[module]))
    for statement in filter(is_for_types, ast.parse(inspect.getsource(sys.modules[module])).body):
        code = ast.Module(
            [each for each in statement.body if "_typeshed" not in ast.unparse(each)], []
        )
        exec(compile(code, module, "exec"), names)  # noqa: S102 - our own
    # Peewee's fields have arguments for type checkers alone.
    return eval(re.sub(r"(peewee\.\w+)\[(.*)\]", r"tuple[\1, \2]", text), names)  # noqa: S307 - our own


@EACH
def test_no_internal_type_leaks(name):
    leaks = {
        (where, found)
        for where, annotation, module in annotated(OBJECTS[name][1])
        for found in types_in(annotation, module)
        if str(getattr(found, "__module__", "")).startswith("wsgiauth")
        if id(found) not in IDS and not isinstance(found, typing.ParamSpec)
    }
    assert leaks == set()
