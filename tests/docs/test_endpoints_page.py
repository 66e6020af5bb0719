"""docs/endpoints.md: its table is that of the routes; tests/test_browser.py runs its script."""

import re

from tests.docs.pages import PAGES
from wsgiauth.app import ROUTES


def test_the_table_is_that_of_the_routes():
    rows = re.findall(r"^\| (`(?:GET|POST).*?) \|", PAGES["docs/endpoints.md"], re.MULTILINE)
    listed = {
        (method, path)
        for row in rows
        for path in [re.search(r"/auth(/[\w./{}-]+)", row)[1]]
        for method in re.findall(r"GET|POST", row)
    }
    assert listed == {(method, path) for path, each in ROUTES.items() for method in each.handlers}
