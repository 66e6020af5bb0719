"""An example of each page, by its template."""

from wsgiauth.features import page_samples
from wsgiauth.web.pages import ErrorPage, Pages

REQUEST = {"wsgiauth.root": ""}  # the part of an environ that pages use
SAMPLES = tuple(page_samples())
ERROR = ErrorPage(
    status=404,
    title="No such page",
    detail="There is nothing.",
    login_url="/login",
    login_text="Log in",
)
EXAMPLES = (*SAMPLES, ERROR)
PAGES = {page.template: page for page in EXAMPLES}


def checked_pages(folder, **options):
    """Return the pages of a site whose templates are checked, as at its start."""
    pages = Pages("/auth", folder, **options)
    for sample in SAMPLES:
        pages.check(sample)
    return pages
