"""The rules for the HTML of a page that need no browser: what people hear, and what is loaded."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bs4 import BeautifulSoup

_FIELDS = "input:not([hidden], [type=hidden], [type=submit], [type=button]), select, textarea"
_PRESSED = ":is(a[href], button, summary, input[type=submit], input[type=button]):not([hidden])"
_POINTERS = ("aria-describedby", "aria-labelledby", "aria-controls", "for", "form", "list")
_EMBEDDING = "iframe, object, embed, base, applet, meta[http-equiv]"
# The direction of a block would move its text to the other side.
_MOVED = ":is(dd, h2, li, p, td, th)[dir]"
# VoiceOver reads a list with `list-style: none` as one only if it has the role.
_LISTS = ":is(ul, ol):not([role=list])"
_COMMENTS = re.compile(r"<!--|\{#|\{%|\{\{")


def structure(page: Any) -> list[tuple[str, list[str]]]:
    """Return the elements of a page and the names of their attributes."""
    return [(element.name, sorted(element.attrs)) for element in page.find_all()]


def faults(html: str, policy: str) -> Iterator[str]:
    """Yield what is wrong with a page, as advice.

    Args:
        policy: Its Content-Security-Policy.
    """
    page = BeautifulSoup(html, "html.parser")
    yield from _of_structure(page)
    yield from _of_names(page)
    yield from _of_pointers(page)
    yield from _of_what_is_blocked(page, policy)
    if _COMMENTS.search(html):
        yield "do not send the comments or the code of the template"


def _of_structure(page: Any) -> Iterator[str]:
    if page.html is None or not page.html.get("lang"):
        yield "give <html> the attribute lang"
    if len(page.find_all("h1")) != 1:
        yield "give the page one <h1>: fill the block title of the layout"
    if page.title is None or not page.title.get_text(strip=True):
        yield "give the page a <title>"
    for name, count in Counter(each["id"] for each in page.find_all(id=True)).items():
        if count > 1:
            yield f"use the id {name!r} once"
    if len(page.find_all(autofocus=True)) > 1:
        yield "give one field the attribute autofocus"
    for each in page.select(_MOVED):
        yield f"put the name in {each.name} into <bdi>, instead of the attribute dir"
    for each in page.select(_LISTS):
        yield f"give <{each.name}> the attribute role=list, for screen readers"


def _of_names(page: Any) -> Iterator[str]:
    for each in page.select(_FIELDS):
        is_named = each.get("aria-label") or each.get("aria-labelledby")
        label = each.find_parent("label") or page.find("label", attrs={"for": each.get("id", "")})
        if not is_named and label is None:
            yield f"give the field {each.get('name')!r} a <label>"
    for each in page.select(_PRESSED):
        images = " ".join(image.get("alt", "") for image in each.find_all("img"))
        name = each.get("aria-label") or each.get("value") or each.get_text() or images
        if not name.strip() and not each.get("aria-labelledby"):
            yield f"give {_tag(each)} words, or aria-label"
    for each in page.find_all("img"):
        if each.get("alt") is None:
            yield f"give {_tag(each)} the attribute alt; empty if it only decorates"


def _of_pointers(page: Any) -> Iterator[str]:
    ids = {each["id"] for each in page.find_all(id=True)}
    for name in _POINTERS:
        for each in page.find_all(attrs={name: True}):
            for missing in {*each[name].split()} - ids:
                yield f"no element has the id {missing!r} that {name} of {_tag(each)} names"
    for each in page.find_all(attrs={"aria-invalid": "true"}):
        reasons = (page.find(id=name) for name in each.get("aria-describedby", "").split())
        if not any(reason and reason.get_text(strip=True) for reason in reasons):
            yield f"let aria-describedby of the field {each.get('name')!r} name its error"


def _of_what_is_blocked(page: Any, policy: str) -> Iterator[str]:
    for kind in ("script", "style"):
        for each in page.find_all(kind):
            if each.get("src") or _source_of(each.get_text()) not in policy:
                yield f"the Content-Security-Policy blocks this <{kind}>: do without"
    for each in page.find_all():
        if "style" in each.attrs or any(name.startswith("on") for name in each.attrs):
            yield f"the Content-Security-Policy blocks the style or handler of {_tag(each)}"
    for each in page.select(_EMBEDDING):
        yield f"the Content-Security-Policy blocks <{each.name}>: do without"
    for each in page.select("[src], link[href], source[srcset]"):
        address = each.get("src") or each.get("href") or each.get("srcset")
        origin = re.match(r"(?:https?:)?//[^/]+", address)
        if origin and origin[0] not in policy:
            yield f"the Content-Security-Policy blocks {address}: serve it from the site"


def _source_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _tag(element: Any) -> str:
    """Return the start tag of an element, shortened."""
    found = re.match(r"<[^>]*>", str(element))
    return found[0][:80] if found else element.name
