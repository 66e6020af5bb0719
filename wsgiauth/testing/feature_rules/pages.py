"""The rules for pages and their forms, by the examples that the feature declares."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from typing import Any

import jinja2
from bs4 import BeautifulSoup
from jinja2 import meta

from wsgiauth.accounts.registration import Field
from wsgiauth.features.registry import page_samples
from wsgiauth.forms import NEXT, ONCE, SENT, Form, MemberForm
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.forms.fields import offered
from wsgiauth.forms.shown_to import ACCOUNT
from wsgiauth.languages import Languages
from wsgiauth.languages.language import Language
from wsgiauth.site import Site
from wsgiauth.testing.feature_rules.markup import faults, structure
from wsgiauth.testing.feature_rules.scene import MOUNT, Finding, Scene
from wsgiauth.web.account_field import EXAMPLE
from wsgiauth.web.pages import Page, Pages
from wsgiauth.web.readers import Readers
from wsgiauth.web.urls import Router

# Reads templates, and renders none.
PARSER = jinja2.Environment(  # noqa: S701
    extensions=["jinja2.ext.i18n"], trim_blocks=True, lstrip_blocks=True
)
NAME = "ada"  # of the user who reads the examples
_OF_ALL_FORMS = {ACCOUNT, NEXT, ONCE, SENT}
_HOSTILE = """</title></p>"'><script>alert(1)</script><img src=x onerror=alert(1)>"""
_ENVIRON = {"wsgiauth.root": ""}  # the part of an environ that pages use


class _Only(Languages):
    """One language, which no setting names."""

    def __init__(self, language: Language) -> None:
        self._by_name = {language.name: language}
        self.default: Language = language


def shown(pages: Pages, page: Page, language: Language) -> tuple[str, str]:
    """Return an example of a page as HTML, for a user who reads a language, and its policy."""
    in_language = copy(pages)
    in_language.readers = Readers(
        _Only(language),
        number_of_user=lambda _: 1,
        label_of_user=lambda _: NAME,
        form_account=lambda _: EXAMPLE,
    )
    response = in_language.render(_ENVIRON, page)
    return response.body.decode(), response.policy


def filled(page: Page, value: str) -> Page:
    """Return a page with every text replaced."""
    texts: dict[str, object] = {
        name: value for name, present in vars(page).items() if isinstance(present, str)
    }
    if hasattr(page, "errors"):
        names = ("email", "username", "password", *page.errors)
        texts["errors"] = {name: [value] for name in names}
    return page.replaced(**texts)


def check_pages(scene: Scene) -> Iterator[Finding]:
    """Yield what is wrong with templates, with the HTML of the examples, and with their forms."""
    found = _Forms(scene.endpoints, scene.site)
    for page in scene.feature.pages():
        for language in scene.site.pages.readers.languages:
            html, policy = shown(scene.site.pages, page, language)
            for advice in faults(html, policy):
                yield Finding("pages", page.template, advice)
            if _is_injectable(scene.site.pages, page, language):
                advice = "show values as text: one of the page becomes HTML, as by the filter safe"
                yield Finding("pages", page.template, advice)
            for advice in found.faults(html, getattr(page, "fields", ())):
                yield Finding("forms", page.template, advice)
    for place, advice in (*found.missing(), *_without_example(scene)):
        yield Finding("forms" if place in scene.endpoints else "pages", place, advice)


def _is_injectable(pages: Pages, page: Page, language: Language) -> bool:
    """Return whether a value of a page can add elements or attributes to it."""
    with suppress(Exception):  # a string can choose what the template shows
        plain, hostile = (
            BeautifulSoup(shown(pages, filled(page, value), language)[0], "html.parser")
            for value in ("plain", _HOSTILE)
        )
        return structure(plain) != structure(hostile)
    return False


class _Forms:
    """Compares the forms of pages with the endpoints that they are sent to."""

    def __init__(self, endpoints: Mapping[str, Endpoint], site: Site) -> None:
        self._endpoints, self._site = endpoints, site
        self._router = Router({path: path for path in endpoints})
        self._seen: dict[str, set[str]] = {}  # the names of fields, by the path of the endpoint

    def faults(self, html: str, asked: Iterable[Any]) -> Iterator[str]:
        """Yield what is wrong with the forms of a page.

        Args:
            asked: The fields of the application that it asks for.
        """
        asked_names = {each.name for each in asked if isinstance(each, Field)}
        page = BeautifulSoup(html, "html.parser")
        for form in page.find_all("form"):
            action = str(form.get("action", "")).partition("?")[0].removeprefix(MOUNT)
            found = self._router.find(action)
            if found is None:  # of the kernel, or of another feature
                continue
            path, endpoint = found[0], self._endpoints[found[0]]
            method = str(form.get("method", "get")).upper()
            if method not in endpoint.handlers:
                yield f"the form to {path} is sent by {method}, which the URL does not answer"
            elif method == "POST" and isinstance(endpoint, Form):
                inside = form.select("[name]:not([hidden])")
                outside = page.select(f'[name][form="{form.get("id")}"]')
                fields = {str(each["name"]) for each in (*inside, *outside)}
                yield from self._of_fields(path, endpoint, fields - asked_names)

    def _of_fields(self, path: str, endpoint: Form[Any], fields: set[str]) -> Iterator[str]:
        self._seen.setdefault(path, set()).update(fields)
        if isinstance(endpoint, MemberForm) and ACCOUNT not in fields:
            yield f"the form to {path} needs the hidden field {ACCOUNT}, with page.shown_to"
        declared = {*(each.name for each in endpoint.fields), *endpoint.strings(self._site)}
        for name in sorted(fields - declared - _OF_ALL_FORMS):
            yield f"the field {name!r} of the form to {path} is not in its `fields`"

    def missing(self) -> Iterator[tuple[str, str]]:
        """Yield the fields that pages must send, and of which no example has an input."""
        for path, seen in self._seen.items():
            endpoint: Any = self._endpoints[path]
            for each in offered(endpoint.fields, self._site.settings):
                if each.name not in seen and (each.required or not each.is_described):
                    yield path, f"no example of its page has the field {each.name!r}"


def _without_example(scene: Scene) -> Iterable[tuple[str, str]]:
    """Yield the templates of which the feature has no example, and that no other one uses."""
    trees = map(PARSER.parse, scene.templates.values())
    used = {each for tree in trees for each in meta.find_referenced_templates(tree)}
    used |= {each.template for each in page_samples(scene.site.features)}
    used |= {each.template for each in scene.feature.letter_samples}
    for name in scene.templates.keys() - used:
        yield name, "add an example to `pages`, or for an email to `letter_samples`"
    for name, source in scene.templates.items():
        if f"{MOUNT}/" in source:
            yield name, f"let a `UrlBelow` of the page make the URL, instead of {MOUNT}/"
