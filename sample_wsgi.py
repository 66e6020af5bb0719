"""A small site with accounts: the tutorial of wsgiauth, to try in a browser and to read.

Run it with `python sample_wsgi.py`, or with any WSGI server: `waitress-serve sample_wsgi:app`.
"""

import logging
import os
import secrets
import sys
from html import escape

import waitress
from webob import Request, Response
from webob.dec import wsgify

from wsgiauth import AuthMiddleware, login_required, permission_required

LOGIN = "/auth/login"


# The views. A view is any WSGI callable; `wsgify` turns a function that takes a request and returns
# a response into one.


@wsgify
def home(request: Request) -> Response:
    """Greet the visitor: `request.user` is a `User`, or None if the visitor is anonymous."""
    if request.user is None:
        return page(request, "Welcome", "<p>You are not logged in.</p>")
    return page(request, "Welcome", f"<p>You are logged in as {name_of(request)}.</p>")


@login_required(redirect_url=LOGIN)
@wsgify
def members(request: Request) -> Response:
    """Only for logged-in users; others are redirected to the login page, and back afterwards."""
    joined = request.user.created_at.strftime("%d %B %Y")
    return page(request, "Members", f"<p>{name_of(request)}, a member since {joined}.</p>")


@permission_required("reports.publish", redirect_url=LOGIN)
@wsgify
def reports(request: Request) -> Response:
    """Only for users with the permission, and superusers; others get a 403."""
    return page(request, "Reports", f"<p>{name_of(request)}, you can publish reports.</p>")


@login_required(redirect_url=LOGIN)
@wsgify
def staff(request: Request) -> Response:
    """Only for staff: a rule of the view's own, which checks a field of the user."""
    if not request.user.is_staff:
        return page(request, "Staff", "<p>Only staff can open this page.</p>", status=403)
    return page(request, "Staff", f"<p>{name_of(request)}, you belong to the staff.</p>")


@wsgify
def not_found(request: Request) -> Response:
    """Answer requests for all other paths."""
    return page(request, "Not found", "<p>There is no such page.</p>", status=404)


# The site: the view for each path. wsgiauth needs no framework, and works with any.

VIEWS = {"/": home, "/members": members, "/reports": reports, "/staff": staff}


def site(environ, start_response):
    """Answer one request (PEP 3333)."""
    view = VIEWS.get(environ.get("PATH_INFO", ""), not_found)
    return view(environ, start_response)


def name_of(request: Request) -> str:
    """Return the username, escaped for HTML."""
    return f"<strong>{escape(request.user.username)}</strong>"


def page(request: Request, title: str, content: str, *, status: int = 200) -> Response:
    """Return an HTML page with the site's navigation."""
    root = escape(request.script_name)
    if request.user is None:
        account = f'<a href="{root}{LOGIN}">Log in</a><a href="{root}/auth/register">Register</a>'
    else:
        account = (
            f'<form method="post" action="{root}/auth/logout?next={root}/">'
            "<button>Log out</button></form>"
        )
    html = PAGE.format(root=root, title=title, content=content, account=account)
    return Response(html, status=status)


PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>{title}</title>
  <link rel="icon" href="data:,">
  <style>
    body {{ max-width: 42rem; margin: 0 auto; padding: 1rem; font: 1.0625rem/1.6 system-ui; }}
    nav {{ display: flex; flex-wrap: wrap; gap: 0 1.25rem; border-bottom: 1px solid #8886; }}
    nav a, nav button {{ padding: .75rem 0; border: 0; background: none; font: inherit; }}
    nav a, nav button {{ color: LinkText; text-decoration: none; cursor: pointer; }}
    nav a:hover, nav button:hover {{ text-decoration: underline; }}
    nav a:nth-child(4) {{ margin-right: auto; }}
  </style>
</head>
<body>
  <nav>
    <a href="{root}/">Home</a>
    <a href="{root}/members">Members</a>
    <a href="{root}/reports">Reports</a>
    <a href="{root}/staff">Staff</a>
    {account}
  </nav>
  <main>
    <h1>{title}</h1>
    {content}
  </main>
</body>
</html>
"""


# `AuthMiddleware(site, settings)` adds accounts to the site. Settings come from the process
# environment. A real site must set SECRET_KEY there, and does not start without it.


logging.basicConfig(level=logging.INFO)  # shows successful and failed logins, with the reason

SECRET_KEY = os.environ.get("SECRET_KEY") or secrets.token_urlsafe(48)

if not os.environ.get("SECRET_KEY"):
    print(
        "SECRET_KEY is not set: using a random key, so all sessions end when this process ends.",
        file=sys.stderr,
    )

app = AuthMiddleware(site, {**os.environ, "SECRET_KEY": SECRET_KEY})

if __name__ == "__main__":
    waitress.serve(app, listen="127.0.0.1:8080", threads=8)
