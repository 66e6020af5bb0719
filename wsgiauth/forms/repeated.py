"""Forms that a browser sends again, because its user reloads the page that answered them.

`page.js` gives each sending of a form a new random `sent`, and a cookie keeps those that were
answered with a page. Such a form does nothing the second time: its answer leads to the page with
the form. The script also lets a reload open that page by GET, which WebKit ignores.

This protects people, not the site: a client without the cookie can send a form again. `once` is for
forms that must do something once.
"""

import re
from wsgiref.types import WSGIEnvironment

from wsgiauth.site import Site
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.responses import Header

_SENT = re.compile(r"[0-9a-z]{8,16}")
_COOKIE = OwnCookie("-sent", 10 * 60)
_MOST = 8  # forms, perhaps of several tabs


def is_repeated(environ: WSGIEnvironment, site: Site, sent: str) -> bool:
    """Return whether the browser says that this form was answered before."""
    return sent in _answered(environ, site)


def answered_cookie(environ: WSGIEnvironment, site: Site, sent: str) -> tuple[Header, ...]:
    """Return the header that keeps the form as answered; none if it is of no script of ours."""
    if not _SENT.fullmatch(sent):
        return ()
    kept = [*_answered(environ, site), sent][-_MOST:]
    return (site.identifier.own_cookie(environ, _COOKIE, ".".join(kept)),)


def _answered(environ: WSGIEnvironment, site: Site) -> list[str]:
    kept = site.identifier.sent_cookie(environ, _COOKIE).split(".")
    return [each for each in kept[:_MOST] if _SENT.fullmatch(each)]
