"""The rules for the responses of URLs, also to requests that no page sends."""

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from wsgiauth.forms import Form
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.forms.fields import SECRETS, Flag, Input, Number, Numbers, Text, Texts
from wsgiauth.forms.shown_to import ACCOUNT
from wsgiauth.testing.feature_rules.scene import (
    ANONYMOUS,
    BROWSER,
    MOUNT,
    USER,
    Caller,
    Drawn,
    Finding,
    Scene,
    logged,
)

_JSON, _PROBLEM, _HTML = "application/json", "application/problem+json", "text/html"
_ELSEWHERE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}
_PLANTED = "planted secret 5f0c81"
_LONG = "x" * 5000
# Values by the class of the field: those that are refused whatever the form is about, and others.
_WRONG: dict[type[Input], tuple[object, ...]] = {
    Text: (7, True, ["x"], {"x": "y"}),
    Number: ("x", 1.5, ["7"], {}),
    Texts: ("x", [7], {"x": "y"}),
    Numbers: ("x", ["x"], [1.5], {}),
    Flag: ("x", 7, ["on"], {}),
}
_HOSTILE: dict[type[Input], tuple[object, ...]] = {
    Text: ("a\0b", _LONG, "\ud800", "\u202e'\"><script>"),
    Number: (-1, 2**63, 10**400),
    Texts: (["a\0b"], [_LONG], ["x"] * 500),
    Numbers: ([-1], [2**63], [1] * 500),
    Flag: (True,),
}

Answer = Any  # of WebTest, which has no types


def check_endpoints(scene: Scene) -> Iterator[Finding]:
    """Yield what is wrong with responses, with changes by requests, and with the log."""
    with logged() as records:
        for path, endpoint in scene.endpoints.items():
            for rule in (_callers, _cross_site, _empty, _hostile):
                for method, advice in rule(_Url(scene, path, endpoint)):
                    yield Finding("endpoints", f"{method} {path}", advice)
    for message in (each.getMessage() for each in records):
        if _PLANTED in message:
            yield Finding("endpoints", "the log", f"do not log what users type: {message[:80]}")


class _Url:
    """A URL of the feature, and what it answers."""

    def __init__(self, scene: Scene, path: str, endpoint: Endpoint) -> None:
        self.scene, self.path, self.endpoint = scene, path, endpoint

    def send(self, caller: Caller, method: str, **request: Any) -> Answer:
        """Return the answer; a string that says what an exception was."""
        send: Callable[..., Answer] = getattr(caller.client, method.lower())
        path = re.sub(r"{(\w+)}", lambda part: str(caller.parts.get(part[1], "word")), self.path)
        try:
            answer = send(f"{MOUNT}{path}", status="*", **request)
        except Exception as error:  # of the feature, which can raise anything
            return f"raises {type(error).__name__}: {error}"
        if answer.status_int >= 500:
            return f"answers {answer.status}"
        if _PLANTED.encode() in answer.body:
            return "repeats what a user types into the field of a secret"
        is_for_all = not self.endpoint.security("get")
        cache = answer.headers.get("Cache-Control", "")
        if "no-store" not in cache and not (is_for_all and "public" in cache):
            return "answers without Cache-Control: no-store"
        return answer

    def form(self, caller: Caller) -> dict[str, object]:
        """Return the fields of a form that a page for the caller sends."""
        fields = self.endpoint.fields if isinstance(self.endpoint, Form) else ()
        filled = {each.name: _usual(each, is_filled=True) for each in fields}
        texts = {name: value for name, value in filled.items() if isinstance(value, str)}
        return {ACCOUNT: caller.account, **texts}

    def draw(self, method: str, answer: Answer) -> None:
        """Remember an answer to a program."""
        is_problem = answer.content_type == _PROBLEM and answer.body
        code = answer.json["code"] if is_problem else ""
        media_type = answer.content_type if answer.body else ""
        self.scene.drawn.add(Drawn(method, self.path, str(answer.status_int), media_type, code))

    def rows(self) -> dict[str, list[Any]]:
        """Return the rows in the tables of the feature."""
        with self.scene.database() as database:
            return {
                table: database.execute_sql(f'SELECT * FROM "{table}"').fetchall()  # noqa: S608
                for table in self.scene.models
                if database.table_exists(table)
            }


def _callers(url: _Url) -> Iterator[tuple[str, str]]:
    """Send each method as each kind of caller, as a program and as a browser."""
    for who, caller in url.scene.callers().items():
        for method in url.endpoint.handlers:
            for headers in ({"Accept": _JSON}, BROWSER):
                before = url.rows()
                form = {"params": url.form(caller)} if method == "POST" else {}
                answer = url.send(caller, method, headers=headers, **form)
                if isinstance(answer, str):
                    yield method, f"to {who}, it {answer}"
                    continue
                yield from ((method, advice) for advice in _refusal(url, who, method, answer))
                if method == "GET":
                    if headers is not BROWSER:
                        url.draw(method, answer)
                    if url.rows() != before:
                        yield method, "it changes rows, which only a POST should do"
                    yield from _head(url, caller, headers, answer)


def _refusal(url: _Url, who: str, method: str, answer: Answer) -> Iterator[str]:
    schemes = url.endpoint.security(method.lower())
    is_done = answer.status_int < 300
    if who == ANONYMOUS and is_done and schemes and None not in schemes:
        yield "it answers anonymous clients, which lack what `security` asks for"
    if who in (ANONYMOUS, USER) and is_done and url.endpoint.is_for_staff:
        yield f"it answers {who}, and `is_for_staff`"


def _head(
    url: _Url, caller: Caller, headers: dict[str, str], answer: Answer
) -> Iterator[tuple[str, str]]:
    head = url.send(caller, "HEAD", headers=headers)
    is_same = not isinstance(head, str) and head.status_int == answer.status_int
    if url.endpoint.answers_head and not is_same:
        found = head if isinstance(head, str) else f"answers {head.status}"
        yield "HEAD", f"it {found}, and GET {answer.status}"


def _cross_site(url: _Url) -> Iterator[tuple[str, str]]:
    """Send a form as a page of another site does, with the cookie of a user."""
    if "POST" not in url.endpoint.handlers or url.endpoint.cross_origin is not None:
        return
    for who, caller in url.scene.callers().items():
        before = url.rows()
        answer = url.send(caller, "POST", params={"x": "y"}, headers={**BROWSER, **_ELSEWHERE})
        if isinstance(answer, str):
            yield "POST", f"from another site, to {who}, it {answer}"
        elif answer.status_int < 300 or url.rows() != before:
            yield "POST", "it accepts a form from another site: call `require_same_origin`"


def _empty(url: _Url) -> Iterator[tuple[str, str]]:
    """Send none of the fields, as a program and as a page."""
    if not isinstance(url.endpoint, Form):
        return
    program, user = url.scene.program(), url.scene.callers()[USER]
    answers = {
        "{} as JSON": url.send(program, "POST_JSON", params={}),
        "an empty form": url.send(user, "POST", params={ACCOUNT: user.account}, headers=BROWSER),
    }
    for sent, answer in answers.items():
        if isinstance(answer, str):
            yield "POST", f"to {sent}, it {answer}"


def _hostile(url: _Url) -> Iterator[tuple[str, str]]:
    """Send wrong types, NUL and too much in each field of a form, as JSON."""
    if not isinstance(url.endpoint, Form):
        return
    for field, is_filled in product(url.endpoint.fields, (False, True)):
        caller, kind = url.scene.program(), type(field)
        others = {each.name: _usual(each, is_filled=is_filled) for each in url.endpoint.fields}
        for value in (*_WRONG[kind], *_HOSTILE[kind]):
            answer = url.send(caller, "POST_JSON", params={**others, field.name: value})
            shown = f"{value!r:.20}"
            if isinstance(answer, str):
                yield "POST", f"with {shown} in the field {field.name}, it {answer}"
                continue
            url.draw("POST", answer)
            if value in _WRONG[kind] and answer.status_int < 400:
                yield "POST", f"it accepts {shown} in the field {field.name}"


def _usual(field: Input, *, is_filled: bool) -> object:
    if isinstance(field, Text) and is_filled:
        return _PLANTED if field.name in SECRETS else "ab"
    return field.default
