"""Forms as pages have them, for tests that send one without opening its page.

Each form of a page for a user has the field `account`. WebTest's clients add it to the fields that
a test posts, unless the test names it; what a form without it gets has tests of its own, in
`tests/forms/test_shown_to.py`.
"""

from functools import wraps
from urllib.parse import parse_qs, urlsplit

import jwt
from webtest import TestApp

from tests.support.tabs import tab_cookies
from wsgiauth import AuthMiddleware
from wsgiauth.authentication import pending
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.authentication.identity import bearer_token
from wsgiauth.features.providers import identities, unclaimed
from wsgiauth.storage import context
from wsgiauth.web.cookies import TaggedCookie

ACCOUNT = "account"
FORM = "application/x-www-form-urlencoded"


def add_accounts():
    """Let the clients of all tests add the field."""
    post = TestApp.post

    @wraps(post)
    def post_as_a_page(client, url, params="", headers=None, **options):
        is_form = isinstance(params, dict) or (headers or {}).get("Content-Type") == FORM
        if is_form and isinstance(client.app, AuthMiddleware) and isinstance(params or {}, dict):
            fields = params or {}
            if ACCOUNT not in fields and (value := account(client, url, headers)):
                params = {**fields, ACCOUNT: value}
        return post(client, url, params, headers=headers, **options)

    TestApp.post = post_as_a_page


def account(client, url="", headers=None):
    """Return the field in the forms of the page that a client gets at a URL; empty without one."""
    site, path = client.app.site, urlsplit(url).path
    make, now = site.form_accounts.value, site.tokens.now()
    user_id = _user_of_session(client, headers or {})
    with context.using(client.app.database):
        if path.endswith("/second"):
            cookies = _cookies_of_tab(client, "second", url)
            waiting = [pending.find(each, now, site.part(FederatedLogins)) for each in cookies]
            return next((make(each.user.id) for each in waiting if each), "")
        if path.endswith("/complete"):
            waiting = [
                unclaimed.find(each, now) for each in _cookies_of_tab(client, "provider", url)
            ]
            accounts = [each.account for each in waiting if each]
            ids = [identities.identity_id(each.issuer, each.subject) for each in accounts]
            return make(user_id, ids[0]) if ids else ""
    return make(user_id) if user_id else ""


def _cookies_of_tab(client, kind, url):
    """Return the cookies of the login that a URL names, or all of this kind, the newest first."""
    asked = parse_qs(urlsplit(url).query).get("login", [""])[0]
    start = f"wsgiauth-{kind}-"
    found = sorted(tab_cookies(client, start).items(), reverse=True)
    cookies = [TaggedCookie(name.removeprefix(start), value) for name, value in found]
    return [each for each in cookies if asked in ("", each.tag)]


def _user_of_session(client, headers):
    """Return the number of the user whom a token names, valid or not; 0 without one."""
    cookies = [value for name, value in client.cookies.items() if name.endswith("wsgiauth")]
    token = bearer_token(headers.get("Authorization", "")) or next(iter(cookies), "")
    try:
        return int(jwt.decode(token.strip('"'), options={"verify_signature": False})["sub"])
    except jwt.InvalidTokenError:
        return 0
