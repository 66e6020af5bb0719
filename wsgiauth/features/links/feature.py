"""What the feature `links` declares: see `wsgiauth.feature`."""

from collections.abc import Sequence

from wsgiauth.endpoints.email import Email
from wsgiauth.endpoints.forgot import Forgot
from wsgiauth.endpoints.reset import Reset
from wsgiauth.endpoints.verified_register import Registration
from wsgiauth.endpoints.verify import Verify
from wsgiauth.feature import Feature
from wsgiauth.features.links.inviter import LinkInviter
from wsgiauth.mail import link_letters
from wsgiauth.web.pages import Page


def _pages() -> Sequence[Page]:
    from wsgiauth.features.links.samples import PAGES

    return PAGES


FEATURE = Feature(
    name="links",
    urls={
        "/register": Registration(),
        "/email": Email(),
        "/forgot": Forgot(),
        "/reset": Reset(),
        "/verify": Verify(),
    },
    parts=lambda settings, tokens: [LinkInviter()],
    pages=_pages,
    composers=link_letters.COMPOSERS,
    letter_samples=link_letters.SAMPLES,
)
