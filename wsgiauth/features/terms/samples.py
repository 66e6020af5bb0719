"""An example of each page of the terms."""

from wsgiauth.extend import Page
from wsgiauth.extend.samples import THEN
from wsgiauth.features.terms.terms import TermsPage

_TERMS = TermsPage(
    version="2026-11-02",
    since=THEN,
    text_url="https://example.org/terms",
    privacy_url="https://example.org/privacy",
)

PAGES: tuple[Page, ...] = (
    _TERMS.replaced(
        is_resent=True, message="The form was refused.", errors={"accept": ["A rule."]}, next="/x"
    ),
    _TERMS.replaced(accepted_at=THEN),
    _TERMS,
)
