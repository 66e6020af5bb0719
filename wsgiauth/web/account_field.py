"""Checks the templates of a site for the field `account`, without which forms are refused."""

from html.parser import HTMLParser
from typing import NamedTuple

EXAMPLE = "example-of-an-account"  # as `page.shown_to`
LINE = '<input type="hidden" name="account" value="{{ page.shown_to }}">'

_OPTIONAL = ("/logout", "/language")  # ends of the paths of forms that can lack the field


class _Form(NamedTuple):
    path: str  # of its action; empty: the address of its page
    has_account: bool


def forms_without_account(html: str, own_html: str) -> list[str]:
    """Return the paths of the forms in `html` that lack the field, but have it in `own_html`."""
    if html == own_html:  # as most pages: to read both would take most of a start
        return []
    needed = {form.path for form in _forms(own_html) if form.has_account}
    needed = {path for path in needed if not path.endswith(_OPTIONAL)}
    if not needed:
        return []
    needed.add("")
    return [form.path for form in _forms(html) if form.path in needed and not form.has_account]


def _forms(html: str) -> list[_Form]:
    parser = _Parser()
    parser.feed(html)
    return parser.forms


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[_Form] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._is_inside = (given.get("method") or "").lower() == "post"
            if self._is_inside:
                self.forms.append(_Form((given.get("action") or "").partition("?")[0], False))
        elif self._is_inside and given.get("name") == "account" and given.get("value") == EXAMPLE:
            self.forms[-1] = self.forms[-1]._replace(has_account=True)

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = self._is_inside and tag != "form"
