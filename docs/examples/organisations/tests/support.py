"""A site with the feature; with DATABASE_URL on a server, whose tables must be up to date."""

import os

from wsgi_accounts_organisations import FEATURE

from wsgiauth import AuthMiddleware
from wsgiauth.testing import api_key, bearer, logged_in, mailbox, make_settings, make_user

DATABASE_URL = os.environ.get("DATABASE_URL", "sqlite:///:memory:")
HTML = {"Accept": "text/html"}


class Site:
    """A site, and what tests do with it.

    Every test changes only what it makes, because a server keeps its tables.
    """

    def __init__(self, app, **changes):
        settings = {"FEATURES": (FEATURE,), "MAIL_URL": "memory:", "ADMIN_PANEL": True}
        settings |= {"DATABASE_URL": DATABASE_URL, "LANGUAGES": ("en", "de")}
        self.application = AuthMiddleware(app, make_settings(**settings | changes))
        mailbox(self.application)
        self.people = {}
        self.clients = {}

    def user(self, name, **fields):
        """Return a user, who is created if missing."""
        if name not in self.people:
            self.people[name] = make_user(self.application, name, **fields)
        return self.people[name]

    def client(self, name):
        """Return the browser of a user."""
        if name not in self.clients:
            self.clients[name] = logged_in(self.application, self.user(name))
        return self.clients[name]

    def bearer(self, name):
        """Return the header of a program of a user."""
        return bearer(self.application, self.user(name))

    def key(self, name):
        """Return the header of an API key of a user."""
        return api_key(self.application, self.user(name))

    def found(self, slug, owner, **roles):
        """Found an organisation with members, by name and role."""
        body = {"name": slug.title(), "slug": slug}
        self.client(owner).post_json("/auth/organisations", body)
        for name, role in roles.items():
            self.invite(slug, owner, f"{name}@example.org", role)
            self.client(name).post_json("/auth/organisations/join", {"token": self.token()})

    def invite(self, slug, actor, email, role="member", status=200):
        """Invite an address."""
        url, body = f"/auth/organisations/{slug}", {"email": email, "role": role}
        return self.client(actor).post_json(url, body, status=status)

    def change(self, slug, actor, name, role="", status=200):
        """Change the role of a member, or remove them."""
        body = {"user": self.user(name).id, "role": role, "remove": not role}
        return self.client(actor).post_json(f"/auth/organisations/{slug}", body, status=status)

    def roles(self, slug, viewer):
        """Return the roles of all members, as one of them sees them."""
        seen = self.client(viewer).get(f"/auth/organisations/{slug}").json
        return {each["label"]: each["role"] for each in seen["members"]}

    def links(self):
        """Return the links of all invitations, the newest last."""
        return [each for each in mailbox(self.application).links if "/join?" in each]

    def token(self):
        """Return the secret of the newest link."""
        return self.links()[-1].partition("token=")[2]

    def texts(self):
        """Return the subjects and texts of all emails."""
        parts = ((each["Subject"], each.get_body(("plain",))) for each in mailbox(self.application))
        return [f"{subject}\n{part.get_content()}" for subject, part in parts]


def hello(environ, start_response):
    """Answer everyone."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]


def form_with(page, text):
    """Return the first form of a page that has some words, such as those of a button."""
    return next(each for each in page.forms.values() if text in each.text)
