"""docs/endpoints.md: its parts are made from the OpenAPI document, which names its failures, too.

tests/test_browser.py runs its script.
"""

import re

from tests.docs.endpoints_page import filled
from tests.docs.pages import PAGES, section
from wsgiauth.app import ROUTES

PAGE = PAGES["docs/endpoints.md"]


def test_the_page_is_made_from_the_document():
    assert filled(PAGE) == PAGE, "run `make endpoints`"


def test_every_route_has_a_section():
    headings = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    listed = [
        route for each in headings for route in re.findall(r"`(GET|POST) /auth([^`]+)`", each)
    ]
    pages = section(PAGE, "Pages").partition("<!-- made")[2]
    listed += [("GET", path) for path in re.findall("`/auth([^`]+)`", pages)]
    offered = [(method, path) for path, each in ROUTES.items() for method in each.handlers]
    assert sorted(listed) == sorted(offered), "run `make endpoints`"
