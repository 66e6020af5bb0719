"""API keys."""

from collections.abc import Sequence

from wsgiauth.endpoints.keys import Keys
from wsgiauth.feature import Feature
from wsgiauth.web.pages import Page


def _pages() -> Sequence[Page]:
    from wsgiauth.features.keys.samples import PAGES

    return PAGES


FEATURE = Feature(
    name="keys",
    urls={
        "/keys": Keys(),
    },
    pages=_pages,
)
