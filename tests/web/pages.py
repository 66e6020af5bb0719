"""An example of each page, by its template."""

from wsgiauth.features.registry import page_samples
from wsgiauth.messages import Wait
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
AFTER_FORMS = (
    ERROR.replaced(links={"/form": "Back to the form"}, form_url="/form"),
    # Only the script can lead back.
    ERROR.replaced(form_url="", detail=Wait("No such page", 37)),
    ERROR.replaced(again_url="/form", again_fields=(("next", "/reports"),)),
)
EXAMPLES = (*SAMPLES, *AFTER_FORMS, ERROR)
PAGES = {page.template: page for page in EXAMPLES}


def check_template(folder, name):
    """Check one of the templates of a site, as all are at its start."""
    pages = Pages("/auth", folder)
    for sample in SAMPLES:
        if sample.template == name:
            pages.check(sample)
