"""An example of each page, by its template."""

from wsgiauth.endpoints.pages import SAMPLES
from wsgiauth.web.pages import ErrorPage

ERROR = ErrorPage(404, "No such page", "There is nothing.", "/", "/login", "Log in")
PAGES = {page.template: page for page in (*SAMPLES, ERROR)}
