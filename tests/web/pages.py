"""An example of each page, by its template."""

from wsgiauth.app import ROUTES
from wsgiauth.web.pages import ErrorPage, Pages

SAMPLES = [sample for endpoint in ROUTES.values() for sample in endpoint.samples]
ERROR = ErrorPage(404, "No such page", "There is nothing.", "/", "/login", "Log in")
EXAMPLES = (*SAMPLES, ERROR)
PAGES = {page.template: page for page in EXAMPLES}


def checked_pages(folder, **options):
    """Return the pages of a site whose templates are checked, as at its start."""
    pages = Pages("/auth", folder, **options)
    for sample in SAMPLES:
        pages.check(sample)
    return pages
