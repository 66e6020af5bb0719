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
        text = "Good books, and a quiet place to read them. Log in to see what is new."
        return page(request, "Welcome", text, template="home")
    return page(request, "Welcome", f"It is good to see you, {user}.", template="home")


@login_required(redirect_url=LOGIN)
@wsgify
def members(request: Request) -> Response:
    """Only for logged-in users; others are redirected to the login page, and back afterwards."""
    since = request.user.created_at
    text = f"{request.user}, you have been a member since {since.day} {since:%B %Y}."
    books = [("The Dispossessed", "Due in 12 days"), ("Middlemarch", "Waits for you at the desk")]
    return page(request, "Members", text, rows=books)


@permission_required("reports.publish", redirect_url=LOGIN)
@wsgify
def reports(request: Request) -> Response:
    """Only for users with the permission, and superusers; others get a 403."""
    figures = [("Visitors this month", "1,204"), ("Loans this month", "3,018")]
    return page(request, "Reports", f"{request.user}, you can publish reports.", rows=figures)


@login_required(redirect_url=LOGIN)
@wsgify
def staff(request: Request) -> Response:
    """Only for staff: the view has its own rule, which checks a field of the user."""
    if not request.user.is_staff:
        return page(request, "Staff", "Only staff can open this page.", status=403)
    tasks = [("Returned books to sort", "18"), ("Reservations to set aside", "6")]
    return page(request, "Staff", f"{request.user}, you belong to the staff.", rows=tasks)


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


def page(request: Request, title: str, text: str, *, template="layout", status=200, rows=()):
    """Return an HTML page of the site; `rows` are pairs of strings."""
    shown = {"title": title, "text": text, "rows": rows, "is_error": status != 200, "mails": MAILS}
    html = TEMPLATES.get_template(template).render(
        shown, name=NAME, root=request.script_name, path=request.path_info, user=request.user
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
    :root { color-scheme: light dark; --ink: #1a2124; --muted: #566166; --page: #f3f5f4;
      --card: #fff; --line: #dde2e1; --accent: #0b6868; --on-accent: #fff; --tint: #e0efed }
    @media (prefers-color-scheme: dark) { :root { --ink: #e7eceb; --muted: #a2aeaf;
      --page: #101516; --card: #182022; --line: #2c373a; --accent: #6ccdc4;
      --on-accent: #06201f; --tint: #1c3335 } }
    body { max-width: 64rem; margin: auto; padding: 1rem 1.25rem 3rem; overflow-wrap: anywhere;
      background: var(--page); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
    header, nav { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem }
    nav { order: 3; width: 100% } nav form, .person { margin-inline-start: auto }
    .person, .brand, .access { display: flex; align-items: center; gap: .625rem }
    a, button, summary { padding: .625rem 0; border: 0; background: none; color: var(--accent);
      font: inherit; font-weight: 600; text-decoration: none; cursor: pointer }
    a:hover, button:hover { text-decoration: underline } [aria-current] { color: inherit }
    .button { display: inline-block; margin: .75rem .5rem 0 0; padding: .625rem 1.25rem;
      border: 1px solid; border-radius: .5rem } .brand { color: inherit; font-size: 1.125rem }
    .main, .brand .mark { background: var(--accent); color: var(--on-accent) }
    svg { flex: none; width: 1.5rem; fill: none; stroke: currentColor; stroke-width: 1.75;
      stroke-linecap: round; stroke-linejoin: round } .access svg { width: 1.25rem }
    .mark { display: grid; flex: none; place-items: center; width: 2.5rem; height: 2.5rem;
      border-radius: .75rem; background: var(--tint); color: var(--accent); font-weight: 700 }
    h1 { margin: 0; font-size: 2.5rem; line-height: 1.2 } h2 { margin: 0; font-size: 1.125rem }
    p { max-width: 30rem; margin: .75rem 0 } .muted { color: var(--muted); font-size: .875rem }
    .hero { display: flex; justify-content: space-between; gap: 2rem; margin: 1.5rem 0;
      padding: 2.5rem 2rem; border-radius: 1.5rem; background: var(--tint); font-size: 1.125rem }
    .shelf { display: none; width: 18rem; fill: var(--accent); stroke: none }
    ul { display: grid; gap: 1rem; margin: 1.5rem 0; padding: 0; list-style: none }
    li { display: flex; gap: .5rem 1rem; padding: 1.25rem; border: 1px solid var(--line);
      border-radius: 1rem; background: var(--card) } .open { color: var(--accent) }
    .rows li { flex-wrap: wrap; justify-content: space-between }
    code { display: block } code span { white-space: nowrap }
    @media (min-width: 48rem) { nav { flex: 1; order: 0; width: auto } .shelf { display: block }
      .cards { grid-template-columns: repeat(3, 1fr) } .cards li { flex-direction: column } }
  </style>
</head>
<body>
  <header>
    <a class="brand" href="{{ root }}/"><span class="mark">
      <svg viewBox="0 0 24 24" aria-hidden="true"><path d="{{ drawings.book }}"/></svg></span>
      {{- name }}</a>
    <nav aria-label="Pages">
      {% for to, label in [("/members", "Members"), ("/reports", "Reports"), ("/staff", "Staff")] %}
      <a href="{{ root }}{{ to }}"{% if to == path %} aria-current="page"{% endif %}>{{ label }}</a>
      {% endfor %}
      {% if user %}
      {% if user.is_staff %}<a href="{{ root }}/auth/admin">Administration</a>{% endif %}
      <form method="post" action="{{ root }}/auth/logout?next={{ root }}/">
        <button type="submit">Log out</button></form>
      {% endif %}
    </nav>
    {% if user %}
    <a class="person" href="{{ root }}/auth/account"><span class="mark" aria-hidden="true">
      {{- (user | string | first | upper) -}} </span><strong>{{ user }}</strong></a>
    {% else %}<a class="person" href="{{ root }}/auth/login">Log in</a>{% endif %}
  </header>
  <main>
    <div class="hero">
      <div>
        <h1>{{ title }}</h1>
        <p>{{ text }}</p>
        {% if is_error %}<a class="button main" href="{{ root }}/">Home page</a>{% endif %}
        {% block actions %}{% endblock %}
      </div>
      {% block picture %}{% endblock %}
    </div>
    {% if rows %}<ul class="rows" role="list">
      {% for thing, fact in rows %}<li><strong>{{ thing }}</strong> {{ fact }}</li>{% endfor %}
    </ul>{% endif %}
    {% block content %}{% endblock %}
  </main>
</body>
</html>
"""

HOME = """{% extends "layout" %}
{% block actions %}
{% if user %}<a class="button main" href="{{ root }}/auth/account">Your account</a>
{% else %}<a class="button main" href="{{ root }}/auth/register">Create an account</a>
<a class="button" href="{{ root }}/auth/login">Log in</a>{% endif %}
{% endblock %}
{% block picture %}
<svg class="shelf" viewBox="0 0 180 100" aria-hidden="true">
  <path fill-rule="evenodd" d="{{ drawings.shelf }}"/></svg>
{% endblock %}
{% block content %}
{% set member = user | string | quote %}
{% set cards = [
  ("book", "/members", "Members", "Your loans, and the books that wait for you.", "For members",
   user, ""),
  ("chart", "/reports", "Reports", "How many people came, and what they read.", "For editors",
   user and user.has_permission("reports.publish"), "join " ~ member ~ " Editors"),
  ("desk", "/staff", "Staff", "What there is to do at the desk today.", "For the staff",
   user and user.is_staff, "set " ~ member ~ " --staff"),
] %}
<ul class="cards" role="list">
  {% for mark, to, label, inside, audience, allowed, command in cards %}
  <li><span class="mark">
    <svg viewBox="0 0 24 24" aria-hidden="true"><path d="{{ drawings[mark] }}"/></svg></span>
    <div>
      <h2><a href="{{ root }}{{ to }}">{{ label }}</a></h2>
      <p>{{ inside }}</p>
      <p class="access {{ "open" if allowed else "muted" }}">
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="{{ drawings["check" if allowed else "lock"] }}"/></svg>
        {{- "You can open it" if allowed else audience }}</p>
    </div>
  </li>
  {% endfor %}
</ul>
<details class="muted">
  <summary>For developers</summary>
  <p>The file sample_wsgi.py makes this site.</p>
  {% if mails %}<p>The emails that it sends are files in <code>{{ mails }}</code></p>{% endif %}
  {% for mark, to, label, inside, audience, allowed, command in cards if user and not allowed %}
  <p data-opens="{{ label }}">This command opens the page {{ label }} to you:
    <code>{{ python }}<span> -m wsgiauth</span> {{ command }}</code></p>
  {% endfor %}
</details>
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
TEMPLATES.globals["drawings"] = {  # the paths of SVG images
    "book": "M12 6c-2-2-5-2-8-2v14c3 0 6 0 8 2 2-2 5-2 8-2V4c-3 0-6 0-8 2zM12 6v14",
    "chart": "M4 20h16M7 16v-5M12 16V5M17 16V9",
    "check": "M5 12.5l4.5 4.5L19 7.5",
    "desk": "M3 10h18M5 10v10M19 10v10M9 10a3 3 0 0 1 6 0M12 7V5",
    "lock": "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
    "shelf": "M0 92h180v4H0zM152 90l-16-62 14-4 17 66zM4 90v-70h16v70zm4-52h8v-6h-8zM24 90v-84h12"
    "v84zm4-66h4v-6h-4zM40 90v-60h20v60zm4-42h12v-6h-12zM66 90v-76h11v76zm4-58h3v-6h-3zM80 90v-88"
    "h18v88zm4-70h10v-6h-10zM104 90v-64h14v64zm4-46h6v-6h-6z",
}


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
