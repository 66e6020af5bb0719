"""The rules for sentences: each is marked for translation, and translated."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from bs4 import BeautifulSoup

from wsgiauth.accounts.registration import Field
from wsgiauth.languages.catalogues import Catalogue, files_in
from wsgiauth.languages.language import Language, read
from wsgiauth.messages import Message
from wsgiauth.testing.feature_rules.pages import NAME, PARSER, shown
from wsgiauth.testing.feature_rules.scene import Finding, Scene, name_of
from wsgiauth.web.pages import Page

BEGIN, END = "\u27e6", "\u27e7"  # around each sentence of `MarkedEnglish`
_MARKED = re.compile(f"{BEGIN}[^{BEGIN}{END}]*{END}")
_WORD = re.compile(r"[^\W\d_]{2,}")
_ATTRIBUTES = ("aria-label", "alt", "title", "placeholder", "data-show", "data-hide", "data-done")
# What shows its arguments to people.
_OF_PEOPLE = (
    *("BackLink", "ForbiddenError", "NotFoundError", "Refusal", "RequestError", "State"),
    *("UnmetDemandError", "ValidationError"),
)
_FUNCTIONS = ("_", "gettext", "ngettext", "pgettext", "npgettext")


class MarkedEnglish(Language):
    """English, with marks around each sentence that can be translated."""

    def __init__(self) -> None:
        super().__init__("en")

    def _chosen(self, text: str, plural: str, number: int, context: str) -> str:
        return f"{BEGIN}{super()._chosen(text, plural, number, context)}{END}"


class Sentence(NamedTuple):
    """A sentence in the source, as it is looked up in catalogues."""

    text: str
    plural: str = ""
    context: str = ""


def check_languages(scene: Scene) -> Iterator[Finding]:
    """Yield what is not marked in pages, and what catalogues lack."""
    for page in scene.feature.pages():
        html, _policy = shown(scene.site.pages, page, MarkedEnglish())
        words = words_without_mark(html, page, scene.site.settings.SITE_NAME or "", NAME)
        if words:
            advice = f"mark these words of the page for translation: {' '.join(words)}"
            yield Finding("languages", page.template, advice)
    for name in scene.languages:
        catalogues = _catalogues(scene, name)
        for place, (text, plural, context) in sentences(scene):
            found = (each.find(context, text, plural, 1) for each in catalogues)
            if not text:
                advice = "write each sentence in the call that marks it, where tools find it"
                yield Finding("languages", place, advice)
            elif not any(found):
                advice = f"translate {text!r} to {name}, without the mark fuzzy"
                yield Finding("languages", place, advice)
    for place, advice in (*_unmarked_in_modules(scene), *_files(scene)):
        yield Finding("languages", place, advice)


def _unmarked_in_modules(scene: Scene) -> Iterator[tuple[str, str]]:
    for module, tree in scene.modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node.func) in _OF_PEOPLE:
                for text in _literals([*node.args, *(each.value for each in node.keywords)]):
                    if text[:1].isupper():  # unlike a code or the name of an icon
                        yield module, f"mark {text!r} for translation, as in _({text!r})"


def _literals(values: Iterable[ast.expr | None]) -> Iterator[str]:
    for value in values:
        match value:
            case ast.Constant(str(text)):
                yield text
            case ast.List(inner) | ast.Dict(values=inner) | ast.BoolOp(values=inner):
                yield from _literals(inner)


def _files(scene: Scene) -> Iterator[tuple[str, str]]:
    folder, name = scene.feature.catalogues, scene.feature.name
    if folder is None:
        return
    compiled = {each.with_suffix(".po") for each in folder.rglob("*.mo")}
    for each in {*folder.rglob("*.po")} - compiled:
        yield each.relative_to(folder).as_posix(), "compile it, as by `pybabel compile`"
    if not files_in(folder, name):
        yield "locale", f"it has no catalogue such as de/LC_MESSAGES/{name}.mo"


def _catalogues(scene: Scene, name: str) -> Iterable[Catalogue]:
    """Return the catalogues of a language: those of the site, and those of the feature."""
    folder, language = scene.feature.catalogues, scene.site.pages.readers.languages.find(name)
    files = files_in(folder, scene.feature.name).get(name, ()) if folder else ()
    return (*(language.catalogues if language else ()), *map(read, files))


def unmarked(text: str) -> list[str]:
    """Return the words outside of all marks, which can be inside each other."""
    while _MARKED.search(text):
        text = _MARKED.sub(" ", text)
    return _WORD.findall(text)


def data_in(value: object) -> Iterator[str]:
    """Yield the strings in a page that are no messages: names, addresses and the like."""
    if isinstance(value, str):
        yield "" if isinstance(value, Message) else value
    elif isinstance(value, dict):
        yield from data_in([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from data_in(each)
    elif hasattr(value, "__dict__"):
        yield from data_in(vars(value))


def words_without_mark(html: str, page: Page, *data: str) -> list[str]:
    """Return the words of a page in `MarkedEnglish` that have no mark, and are no data."""
    parsed: Any = BeautifulSoup(html, "html.parser")
    for each in parsed.find_all(["script", "style"]):
        each.decompose()
    attributes = [
        each[name] for each in parsed.find_all() for name in _ATTRIBUTES if each.get(name)
    ]
    words = [word for text in (parsed.get_text(), *attributes) for word in unmarked(text)]
    # Those of the application.
    fields = [each for each in getattr(page, "fields", ()) if isinstance(each, Field)]
    texts = [
        text for each in fields for text in (each.label, each.hint, *dict(each.choices).values())
    ]
    known = " ".join((*data, *texts, *data_in(page)))
    return [word for word in words if word not in known]


def sentences(scene: Scene) -> Iterator[tuple[str, Sentence]]:
    """Yield the sentences in the modules and templates of the feature, with their places."""
    for name, tree in scene.modules.items():
        for node in ast.walk(tree):
            match node:
                case ast.Call(ast.Name(function), arguments) if function in _FUNCTIONS:
                    yield name, _sentence(function, map(_constant, arguments))
    extract: Any = PARSER.extract_translations  # type: ignore[attr-defined]
    for name, source in scene.templates.items():
        for _line, function, found in extract(source):
            yield name, _sentence(function, found if isinstance(found, tuple) else (found,))


def _constant(argument: ast.expr) -> Any:
    return argument.value if isinstance(argument, ast.Constant) else None


def _sentence(function: str, arguments: Iterable[object]) -> Sentence:
    """Return the sentence of a call; an empty one if the call has none."""
    texts = [each for each in arguments if isinstance(each, str)]
    context = texts.pop(0) if function in ("pgettext", "npgettext") else ""
    plural = texts[1] if function in ("ngettext", "npgettext") else ""
    return Sentence("".join(texts[:1]), plural, context)
