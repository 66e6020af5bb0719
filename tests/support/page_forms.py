"""Forms as pages have them, for tests that send one without opening its page.

Each form of a page for a user has the field `account`. WebTest's clients add it to the fields that
a test posts, unless the test names it; what a form without it gets has tests of its own, in
`tests/forms/test_shown_to.py`.
"""

from functools import wraps
from urllib.parse import urlsplit

import jwt
from webtest import TestApp

from wsgiauth import AuthMiddleware
from wsgiauth.authentication import identities, pending, unclaimed
from wsgiauth.authentication.identity import bearer_token
from wsgiauth.storage import context

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
            if ACCOUNT not in fields and (value := account(client, urlsplit(url).path, headers)):
                params = {**fields, ACCOUNT: value}
        return post(client, url, params, headers=headers, **options)

    TestApp.post = post_as_a_page


def account(client, path="", headers=None):
    """Return the field in the forms of the page that a client gets at a path; empty without one."""
    site = client.app.site
    make, now = site.form_accounts.value, site.tokens.now()
    user_id = _user_of_session(client, headers or {})
    with context.using(client.app.database):
        if path.endswith("/second"):
            found = pending.find(client.cookies.get("wsgiauth-second", ""), now)
            return make(found.user.id) if found else ""
        if path.endswith("/complete"):
            found = unclaimed.find(client.cookies.get("wsgiauth-provider", ""), now)
            waiting = found and identities.identity_id(found.account.issuer, found.account.subject)
            return make(user_id, waiting) if waiting else ""
    return make(user_id) if user_id else ""


def _user_of_session(client, headers):
    """Return the number of the user whom a token names, valid or not; 0 without one."""
    cookies = [value for name, value in client.cookies.items() if name.endswith("wsgiauth")]
    token = bearer_token(headers.get("Authorization", "")) or next(iter(cookies), "")
    try:
        return int(jwt.decode(token.strip('"'), options={"verify_signature": False})["sub"])
    except jwt.InvalidTokenError:
        return 0
