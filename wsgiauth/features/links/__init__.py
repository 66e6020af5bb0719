"""Links in emails: a new password, a proof of an address, and invitations."""

from collections.abc import Sequence

from wsgiauth.feature import Feature
from wsgiauth.mail import link_letters
from wsgiauth.web.pages import Page


def _pages() -> Sequence[Page]:
    from wsgiauth.features.links.samples import PAGES

    return PAGES


FEATURE = Feature(
    name="links",
    pages=_pages,
    composers=link_letters.COMPOSERS,
    letter_samples=link_letters.SAMPLES,
)
