"""The staff panel."""

from collections.abc import Sequence

from wsgiauth.feature import Feature
from wsgiauth.web.pages import Page


def _pages() -> Sequence[Page]:
    from wsgiauth.features.panel.samples import PAGES

    return PAGES


FEATURE = Feature(name="panel", pages=_pages)
