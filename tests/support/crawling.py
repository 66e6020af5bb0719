"""A crawl through the pages of a member."""

from urllib.parse import urljoin, urlsplit

from tests.support.sites import BROWSER
from wsgiauth.app import ROUTES
from wsgiauth.staff.actions import ActionForm
from wsgiauth.web.urls import Router


def routes_of(path):
    """Return the pattern of ROUTES that a path below the mount has."""
    return Router({pattern: pattern for pattern in ROUTES}).find(path.removeprefix("/auth"))[0]


def forms_of(page):
    """Return the fields of the forms on a page that change something, by where they are sent."""
    return [
        (urljoin(page.request.path, form.action), dict(form.submit_fields()))
        for form in page.forms.values()
        if form.method.upper() == "POST"
    ]


def crawl(browser):
    """Yield every page below /auth to which links and searching forms of others lead."""
    waiting, seen = ["/auth/account"], set()
    while waiting:
        url = waiting.pop()
        route = (routes_of(urlsplit(url).path), urlsplit(url).path.rpartition("/")[2])
        if route in seen or "users.csv" in url or route[0] in {"/forgot", "/language"}:
            continue
        seen.add(route)
        page = browser.get(url, headers=BROWSER)
        while page.status_int in (302, 303):
            page = page.follow(headers=BROWSER)
        if page.content_type != "text/html":  # a file
            continue
        yield page
        links = [each["href"] for each in page.html.find_all("a", href=True)]
        waiting += [url for url in links if url.startswith("/auth/") and "/logout" not in url]
        # A button that asks first is a link to the same address as its form.
        waiting += [url for url, _ in forms_of(page) if asks_first(url)]


def asks_first(url):
    """Return whether the form at a URL asks first."""
    return isinstance(ROUTES[routes_of(url.partition("?")[0])], ActionForm)
