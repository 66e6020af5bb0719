"""The rules for the declaration; the start of the site has found what is declared twice."""

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec

from wsgiauth.events.actors import feature_code
from wsgiauth.events.kinds import Change
from wsgiauth.feature import Finding as Answer
from wsgiauth.messages import Message
from wsgiauth.testing.feature_rules.scene import BROWSER, MOUNT, Finding, Scene
from wsgiauth.testing.logins import logged_in

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST_EVENT = 32  # characters
_KINDS = ("Change", "RefusedAttempt")
_PUBLIC = ("", "contrib", "events", "exceptions", "extend", "testing")  # modules


def check_declaration(scene: Scene) -> Iterator[Finding]:
    """Yield what is wrong with names, words, and what the settings leave off."""
    for place, advice in (
        *_package(scene),
        *_left_off(scene),
        *_events(scene),
        *_words(scene),
        *(() if scene.is_own else _names(scene)),
        *_sections(scene),
        *_left_out(scene),
    ):
        yield Finding("declaration", place, advice)


def _package(scene: Scene) -> Iterator[tuple[str, str]]:
    package = scene.modules.get("__init__.py")
    if package is not None and not ast.get_docstring(package):
        yield "__init__.py", "begin the package with a docstring that says what the feature does"


def _left_off(scene: Scene) -> Iterator[tuple[str, str]]:
    for path in scene.feature.urls:
        if path not in scene.endpoints:
            yield path, "the settings turn the URL off: pass `settings` that turn all of it on"


def _events(scene: Scene) -> Iterator[tuple[str, str]]:
    declared = {each.name for each in scene.feature.events}
    for name in declared:
        if not _NAME.fullmatch(name) or len(name) > _LONGEST_EVENT:
            yield name, f"name it by at most {_LONGEST_EVENT} characters, as badges_given"
    for module, tree in scene.modules.items():
        for node in ast.walk(tree):
            match node:
                case ast.Call(ast.Name(kind), [ast.Constant(str(name)), *_]) if kind in _KINDS:
                    if name not in declared:
                        yield module, f"the event {name} is not declared in `events`"


def _words(scene: Scene) -> Iterator[tuple[str, str]]:
    feature, settings = scene.feature, scene.site.settings
    words = {f"the headline of {code}": text for code, text in feature.headlines.items()}
    for kind in (each for each in feature.events if isinstance(each, Change)):
        words[f"the title of the event {kind.name}"] = kind.title
    for section in feature.staff_sections(settings):
        words[f"the title of the section {section.name}"] = section.title
    for path, endpoint in scene.endpoints.items():
        words[f"the step of {path}"] = endpoint.step
        if endpoint.account_link is not None:
            words[f"the heading of {path}"] = endpoint.account_link.group
            words[f"the link to {path}"] = endpoint.account_link.title
            words[f"the sentence about {path}"] = endpoint.account_link.text
    for place, text in words.items():
        if text and not isinstance(text, Message):
            yield place, f"mark {text!r} for translation, as in _({text!r})"


def _names(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield the names without the feature's, and the imports that are not public."""
    prefix = scene.feature.name
    for name in (each.name for each in scene.feature.events):
        if not name.startswith(f"{prefix}_"):
            yield name, f"let the name of the event begin with {prefix}_"
    for name in scene.templates:
        if not name.rpartition("/")[2].startswith(prefix):
            yield name, f"let the name of the template begin with {prefix}"
    for module, tree in scene.modules.items():
        for name in _imported(tree):
            package, inside, *_ = *name.split("."), ""
            if package == "wsgiauth" and inside not in _PUBLIC and find_spec(f"wsgiauth.{inside}"):
                yield module, f"import from wsgiauth.extend instead of {name}, which is internal"


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (each.name for each in names)
            case ast.ImportFrom("wsgiauth", names):
                yield from (f"wsgiauth.{each.name}" for each in names)
            case ast.ImportFrom(str(module)):
                yield module


def _sections(scene: Scene) -> Iterator[tuple[str, str]]:
    for section in scene.feature.staff_sections(scene.site.settings):
        path = f"/admin/{section.name}".rstrip("/")
        for missing in {path} - scene.endpoints.keys():
            yield f"the section {section.name}", f"its link leads to {missing}: add it to `urls`"


def _left_out(scene: Scene) -> Iterator[tuple[str, str]]:
    """Ask what `feature_code` leaves out if it raises, about a user without rows, and with rows."""
    user = scene.make_user(is_staff=True, is_superuser=True)
    browser = logged_in(scene.application, user)
    for prepare in (lambda _: None, scene.filled):
        prepare(user)
        for path in ("/account", f"/admin/users/{user.id}"):
            browser.get(f"{MOUNT}{path}", headers=BROWSER, status="*")
        for question in scene.feature.questions:
            found: list[object] = []
            with scene.database(), feature_code(scene.feature.name, "a question of `check`"):
                found += question.ask(scene.site)
            if wrong := [each for each in found if not isinstance(each, Answer)]:
                yield "a question of `check`", f"yield a `Finding`, instead of {wrong[0]!r}"
