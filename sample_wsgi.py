"""A small site with accounts: the tutorial of wsgiauth, to try in a browser and to read.

`make run` serves it with everything on: emails are files in the folder `mails`, and users can set
up authenticator apps and passkeys at /auth/account. Settings are environment variables:
`SECOND_FACTOR=all make run` demands a second factor, and with `USERNAMES=off make run` people have
an email address and no username. Without `make`, run
`python -m wsgiauth serve sample_wsgi:app --listen localhost:8080`, with `FACTOR_KEY` from the file
`factor.key` if users have set up authenticator apps: without it, no login asks for their codes. Any
other WSGI server will do, too, such as `waitress-serve sample_wsgi:app`.
"""

import contextlib
import logging
import os
import secrets
import shlex
import sys
from pathlib import Path

import jinja2
import waitress
from webob import Request, Response
from webob.dec import wsgify

from wsgiauth import AuthMiddleware, Group, login_required, permission_required
from wsgiauth.exceptions import TakenError

NAME = "Riverside Library"
LOGIN = "/auth/login"
MAILS = os.environ.get("MAIL_URL", "").removeprefix("file://")  # `make run` sets it to a folder


# The views. A view is any WSGI callable. `wsgify` makes one from a function that takes a request
# and returns a response.


@wsgify
def home(request: Request) -> Response:
    """For everyone: `request.user` is a `User`, or None if the visitor is anonymous.

    As a string, a user is their `label`: the username, or the email address with USERNAMES=off.
    """
    user = request.user
    if user is None:
        return page(request, "Welcome", "Log in to see what is new.", template="home")
    return page(request, "Welcome", f"It is good to see you, {user}.", template="home")


@login_required(redirect_url=LOGIN)
@wsgify
def members(request: Request) -> Response:
    """Only for logged-in users; others are redirected to the login page, and back afterwards."""
    since = request.user.created_at
    text = f"{request.user}, you have been a member since {since.day} {since:%B %Y}."
    return page(request, "Members", text)


@permission_required("reports.publish", redirect_url=LOGIN)
@wsgify
def reports(request: Request) -> Response:
    """Only for users with the permission, and superusers; others get a 403."""
    return page(request, "Reports", f"{request.user}, you can publish reports.")


@login_required(redirect_url=LOGIN)
@wsgify
def staff(request: Request) -> Response:
    """Only for staff: the view has its own rule, which checks a field of the user."""
    if not request.user.is_staff:
        return page(request, "Staff", "Only staff can open this page.", status=403)
    return page(request, "Staff", f"{request.user}, you belong to the staff.")


@wsgify
def not_found(request: Request) -> Response:
    """Answer requests for all other paths."""
    return page(request, "Not found", "There is no such page.", status=404)


# The site: a view for each path. wsgiauth needs no framework, and works with any.

VIEWS = {"/": home, "/members": members, "/reports": reports, "/staff": staff}


def site(environ, start_response):
    """Answer one request (PEP 3333)."""
    view = VIEWS.get(environ.get("PATH_INFO", ""), not_found)
    return view(environ, start_response)


def page(request: Request, title: str, text: str, *, template="layout", status=200) -> Response:
    """Return an HTML page of the site."""
    html = TEMPLATES.get_template(template).render(
        name=NAME, mails=MAILS, root=request.script_name, user=request.user, title=title, text=text
    )
    return Response(html, status=status)


# The templates. A larger site keeps them in files.

LAYOUT = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>{{ title }} · {{ name }}</title>
  <link rel="icon" href="data:,">
  <style>
    :root { color-scheme: light dark; --ink: #1a2124; --page: #f3f5f4; --card: #fff;
      --line: #dde2e1; --accent: #0b6868 }
    @media (prefers-color-scheme: dark) { :root { --ink: #e7eceb; --page: #101516;
      --card: #182022; --line: #2c373a; --accent: #6ccdc4 } }
    body { max-width: 40rem; margin: auto; padding: 1rem 1.25rem; overflow-wrap: anywhere;
      background: var(--page); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
    header, nav { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem }
    header { justify-content: space-between; margin-bottom: 3rem }
    a, button { padding: .625rem 0; color: var(--accent); font: inherit; font-weight: 600 }
    button, .button { padding: .625rem 1rem; border: 1px solid; border-radius: .5rem;
      background: var(--card); text-decoration: none; cursor: pointer }
    li { margin: 1rem 0; padding: 1rem 1.5rem; border: 1px solid var(--line); list-style: none;
      border-radius: 1rem; background: var(--card) }
    ul { margin: 2rem 0; padding: 0 } p { margin: .5rem 0 }
    li code { display: block }
    code span { white-space: nowrap } .hint { margin-top: 1.5rem; font-size: .875rem }
  </style>
</head>
<body>
  <header>
    <a href="{{ root }}/">{{ name }}</a>
    <nav>
      {% if user %}
      {% if user.is_staff %}
      <a href="{{ root }}/auth/admin">Administration</a>
      {% endif %}
      <a href="{{ root }}/auth/account">{{ user }}</a>
      <form method="post" action="{{ root }}/auth/logout?next={{ root }}/">
        <button type="submit">Log out</button></form>
      {% else %}
      <a href="{{ root }}/auth/login">Log in</a>
      <a class="button" href="{{ root }}/auth/register">Create an account</a>
      {% endif %}
    </nav>
  </header>
  <main>
    <h1>{{ title }}</h1>
    <p>{{ text }}</p>
    {% block content %}{% endblock %}
  </main>
</body>
</html>
"""

HOME = """{% extends "layout" %}
{% block content %}
{% set member = user | string | quote %}
<ul role="list">
  {% for path, label, audience, allowed, command in [
    ("/members", "Members", "For everyone with an account.", True, ""),
    ("/reports", "Reports", "For the editors of our reports.",
     user and user.has_permission("reports.publish"), "join " ~ member ~ " Editors"),
    ("/staff", "Staff", "For the people who work here.",
     user and user.is_staff, "set " ~ member ~ " --staff"),
  ] %}
  <li><a href="{{ root }}{{ path }}">{{ label }}</a>
    <p>{{ audience }}</p>
    <p class="access">
      {%- if not user %}Log in to open it.
      {%- elif allowed %}✓ You can open it.
      {%- else %}You cannot open it yet.{% endif -%}
    </p>
    {% if user and not allowed %}
    <p class="hint">If you run this sample, this command lets you in:
      <code>{{ python }}<span> -m wsgiauth</span> {{ command }}</code></p>
    {% endif %}
  </li>
  {% endfor %}
</ul>
{% if mails %}
<p class="hint">If you run this sample, the emails that it sends are files in
  <code>{{ mails }}</code>.</p>
{% endif %}
{% endblock %}
"""

TEMPLATES = jinja2.Environment(
    loader=jinja2.DictLoader({"layout": LAYOUT, "home": HOME}), autoescape=True
)


def interpreter() -> str:
    """Return the Python that runs this, for a shell in the current folder."""
    path, folder = Path(sys.executable), Path.cwd()
    return shlex.quote(str(path.relative_to(folder) if path.is_relative_to(folder) else path))


TEMPLATES.filters["quote"] = shlex.quote
TEMPLATES.globals["python"] = interpreter()


# `AuthMiddleware(site, settings)` adds accounts to the site. The settings come from the process
# environment. A real site must set SECRET_KEY there: wsgiauth does not start without it.


logging.basicConfig(level=logging.INFO)  # shows successful and failed logins, with the reason

SECRET_KEY = os.environ.get("SECRET_KEY") or secrets.token_urlsafe(48)

if not os.environ.get("SECRET_KEY"):
    print(
        "SECRET_KEY is not set: using a random key, so all sessions end when this process ends.",
        file=sys.stderr,
    )

app = AuthMiddleware(site, {"SITE_NAME": NAME, **os.environ, "SECRET_KEY": SECRET_KEY})

# A group gives its permissions to its members. After the first start, this group exists.
with contextlib.suppress(TakenError):
    Group.objects.create(name="Editors").grant("reports.publish")

if __name__ == "__main__":
    waitress.serve(app, listen="127.0.0.1:8080", threads=8)
