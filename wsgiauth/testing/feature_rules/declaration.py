"""The rules for the declaration; the start of the site has found what is declared twice."""

import ast
import re
from collections.abc import Iterator

from wsgiauth.events.kinds import Change
from wsgiauth.messages import Message
from wsgiauth.testing.feature_rules.scene import Finding, Scene

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST_EVENT = 32  # characters
_KINDS = ("Change", "RefusedAttempt")


def check_declaration(scene: Scene) -> Iterator[Finding]:
    """Yield what is wrong with names, words, and what the settings leave off."""
    for place, advice in (
        *_package(scene),
        *_left_off(scene),
        *_events(scene),
        *_words(scene),
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
            yield name, f"name the event by at most {_LONGEST_EVENT} characters, as badges_given"
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
            words[f"the link to {path}"] = endpoint.account_link.title
            words[f"the sentence about {path}"] = endpoint.account_link.text
    for place, text in words.items():
        if text and not isinstance(text, Message):
            yield place, f"mark {text!r} for translation, as in _({text!r})"
