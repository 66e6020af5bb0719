"""Every page as a site answers it, each at an address of its own, for a browser to look at.

A new template is there by its example; a line in `ANSWERS` adds a page in another state.
"""

import importlib
import os
import re
import time
from datetime import timedelta
from unittest.mock import patch

from peewee import OperationalError
from webob import Request, Response
from webtest import TestApp

from tests.conftest import insert_users
from tests.support.authenticators import Authenticator, add_passkey
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.keys import make_key
from tests.support.mails import MAIL, Post
from tests.support.own_templates import OWN
from tests.support.page_forms import account
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME, echo
from tests.web.pages import PAGES, REQUEST
from wsgiauth import AuthMiddleware, Group, Session, Settings, User, login_required
from wsgiauth.accounts import create_user
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.endpoints.samples import FIELDS
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.forms.done import done_cookies
from wsgiauth.messages import Joined
from wsgiauth.storage.failures import unavailable
from wsgiauth.throttling.attempts import try_again_in
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.web.pages import ErrorPage, Pages

SITE_NAME = "Riverside Library"
WRONG_PASSWORD = {"current_password": "wrong", "new_password": PASSWORD}
COMMON_PASSWORD = {"current_password": PASSWORD, "new_password": "password"}
ALL_WRONG = {"username": "Ada Lovelace", "email": "ada@", "password": "password"}
UNKNOWN_PERMISSION = {"permission": "reports.publsh", "only_known": "on"}

CHOSEN = (*range(1, 40), 62, 999)  # ids of users

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Mobile Safari/604.1"

ELSEWHERE = "login-elsewhere"  # where passkeys do not work

ANSWERS = {
    "home": lambda people: people.stranger.get("/"),
    "home-member": lambda people: people.grace.get("/"),
    "home-staff": lambda people: people.ada.get("/"),
    "members": lambda people: people.ada.get("/members"),
    "reports": lambda people: people.ada.get("/reports"),
    "staff": lambda people: people.ada.get("/staff"),
    "staff-refused": lambda people: people.grace.get("/staff", status=403),
    "nowhere": lambda people: people.stranger.get("/nowhere", status=404),
    "login": lambda people: people.stranger.get("/auth/login"),
    ELSEWHERE: lambda people: people.stranger.get("/auth/login"),
    "login-refused": lambda people: log_in(people.stranger, USERNAME, "wrong"),
    "forgot": lambda people: people.stranger.get("/auth/forgot"),
    "forgot-refused": lambda people: post(people.stranger, "/auth/forgot", {"username": ""}),
    "forgot-sent": lambda people: post(people.stranger, "/auth/forgot", {"username": "Lin"}),
    "reset": lambda people: people.stranger.get(people.link),
    "reset-refused": lambda people: post(people.stranger, "/auth/reset", people.common_password),
    "login-after-reset": lambda people: after(
        people.visitor(echo), "/auth/login?done=reset", USERNAME
    ),
    "reset-expired": lambda people: people.stranger.get("/auth/reset?token=used", status=410),
    "verify-expired": lambda people: people.stranger.get("/auth/verify?token=used", status=410),
    "invitation": lambda people: people.stranger.get(people.invitation),
    "invitation-refused": lambda people: post(people.stranger, "/auth/verify", people.taken_name),
    "register": lambda people: people.stranger.get("/auth/register"),
    "register-refused": lambda people: post(people.stranger, "/auth/register", ALL_WRONG),
    "register-fields": lambda people: people.visitor(echo, registration=FIELDS).get(
        "/auth/register"
    ),
    "register-fields-refused": lambda people: post(
        people.visitor(echo, registration=FIELDS), "/auth/register", ALL_WRONG
    ),
    "logged-in": lambda people: people.ada.get("/auth/login"),
    "account": lambda people: people.grace.get("/auth/account"),
    "account-changed": lambda people: after(people.grace, "/auth/account?done=password"),
    "sessions-one": lambda people: people.grace.get("/auth/sessions"),
    "sessions-done": lambda people: after(people.grace, "/auth/sessions?done=login"),
    "sessions-several": lambda people: people.ada.get("/auth/sessions"),
    "sessions-ended": lambda people: post(people.grace, "/auth/sessions", {"end": "ended"}),
    "sessions-reused": lambda people: people.lin.get("/auth/sessions"),
    "logged-in-sent": lambda people: people.grace.get("/auth/login?next=/reports"),
    "password": lambda people: people.ada.get("/auth/password"),
    "password-wrong": lambda people: post(people.ada, "/auth/password", WRONG_PASSWORD),
    "password-refused": lambda people: post(people.ada, "/auth/password", COMMON_PASSWORD),
    "email": lambda people: people.ada.get("/auth/email"),
    "email-refused": lambda people: post(people.ada, "/auth/email", {"email": "ada@"}),
    "email-sent": lambda people: post(people.ada, "/auth/email", {"email": "ada@example.net"}),
    "verify": lambda people: people.ada.get(people.address_link),
    "verify-other": lambda people: people.grace.get(people.address_link, status=403),
    "username": lambda people: people.ada.get("/auth/username"),
    "username-taken": lambda people: post(people.ada, "/auth/username", {"username": "grace"}),
    "keys": lambda people: people.grace.get("/auth/keys"),
    "keys-made": lambda people: post(people.ada, "/auth/keys", {"name": "Nightly export"}),
    "keys-several": lambda people: after(people.ada, "/auth/keys?done=ended"),
    "keys-refused": lambda people: post(people.ada, "/auth/keys", {"name": "", "days": "0"}),
    "close": lambda people: people.ada.get("/auth/close"),
    "close-other": lambda people: post(
        people.grace, "/auth/close", {"account": account(people.ada)}
    ),
    "confirm": lambda people: people.ada.get("/auth/confirm?next=/reports"),
    "confirm-close": lambda people: people.ada.get("/auth/confirm?next=/auth/close"),
    "confirm-delete": lambda people: people.boss.get(
        "/auth/confirm?resend=1&next=/auth/admin/users/2/delete"
    ),
    "confirm-resend": lambda people: people.ada.get("/auth/confirm?resend=1&next=/reports"),
    "confirm-refused": lambda people: post(people.ada, "/auth/confirm", {"password": "wrong"}),
    "admin-users": lambda people: people.boss.get("/auth/admin/users"),
    "admin-users-chosen": lambda people: with_chosen_users(
        people.boss.get("/auth/admin/users?q=lin")
    ),
    "admin-users-second": lambda people: people.boss.get("/auth/admin/users?sort=-email").click(
        href="after="
    ),
    "admin-users-filtered": lambda people: people.boss.get("/auth/admin/users?q=a&staff=yes"),
    "admin-users-staff": lambda people: people.boss.get("/auth/admin/users?staff=yes"),
    "admin-users-none": lambda people: people.boss.get("/auth/admin/users?q=nobody&seen=never"),
    "admin-several": lambda people: people.boss.get(
        "/auth/admin/users/several?action=deactivate" + "".join(f"&users={n}" for n in CHOSEN)
    ),
    "admin-several-group": lambda people: people.boss.get(
        "/auth/admin/users/several?action=join" + "".join(f"&users={n}" for n in CHOSEN)
    ),
    "admin-several-done": lambda people: post(
        people.boss,
        "/auth/admin/users/several",
        {"action": "activate", "users": ["3", "4", "1", "999"]},
    ),
    "admin-user": lambda people: after(people.boss, "/auth/admin/users/1?done=grant"),
    "admin-user-viewed": lambda people: people.ada.get("/auth/admin/users/2?list=q%3Dgr"),
    "admin-user-own": lambda people: people.boss.get("/auth/admin/users/4"),
    "admin-user-secured": lambda people: people.boss.get(page_of_mary()),
    "admin-user-failed": lambda people: with_failed_logins(people),
    "admin-remove-factors": lambda people: people.boss.get(f"{page_of_mary()}/remove-factors"),
    "admin-end-key": lambda people: people.boss.get(page_of_mary()).click(href="/end-key", index=0),
    "admin-invite": lambda people: people.boss.get("/auth/admin/invite"),
    "admin-invite-refused": lambda people: post(
        people.boss, "/auth/admin/invite", {"email": "mary@"}
    ),
    "admin-invitations": lambda people: with_invitations(people),
    "admin-delete": lambda people: people.boss.get("/auth/admin/users/2/delete"),
    "admin-change-email": lambda people: people.boss.get("/auth/admin/users/2/change-email"),
    "admin-user-inactive": lambda people: people.boss.get(
        f"/auth/admin/users/{User.get(User.username == 'User58').id}"
    ),
    "admin-several-unchanged": lambda people: post(
        people.boss, "/auth/admin/users/several", {"action": "activate", "users": ["3", "4"]}
    ),
    "admin-deactivate": lambda people: people.boss.get("/auth/admin/users/2/deactivate"),
    "admin-grant-refused": lambda people: post(
        people.boss, "/auth/admin/users/2/grant", {"permission": "publish"}
    ),
    "admin-grant-unknown": lambda people: post(
        people.boss, "/auth/admin/users/2/grant", UNKNOWN_PERMISSION
    ),
    "admin-forbidden": lambda people: people.ada.get("/auth/admin/users/2/delete", status=403),
    "admin-gone": lambda people: people.boss.get("/auth/admin/groups/999", status=404),
    "admin-groups": lambda people: people.boss.get("/auth/admin/groups"),
    "admin-groups-refused": lambda people: post(people.boss, "/auth/admin/groups", {"name": "-"}),
    "admin-groups-viewed": lambda people: people.ada.get("/auth/admin/groups"),
    "admin-group": lambda people: after(people.boss, "/auth/admin/groups/1?done=grant"),
    "admin-group-viewed": lambda people: people.ada.get("/auth/admin/groups/1"),
    "admin-group-large": lambda people: people.boss.get("/auth/admin/groups/2"),
    "admin-group-add-refused": lambda people: post(
        people.boss, "/auth/admin/groups/1/add", {"user": "nobody"}
    ),
    "admin-group-delete": lambda people: people.boss.get("/auth/admin/groups/1/delete"),
    "admin-events": lambda people: people.boss.get("/auth/admin/events"),
    "admin-events-filtered": lambda people: people.boss.get(
        "/auth/admin/events?user=ada&name=login&since=2026-01-01"
    ),
    "admin-events-none": lambda people: people.boss.get("/auth/admin/events?user=nobody"),
    "totp": lambda people: people.ada.get("/auth/totp"),
    "totp-set-up": lambda people: set_up_an_app(people.grace),
    "totp-refused": lambda people: post(people.grace, "/auth/totp", {"code": "x"}),
    "passkeys": lambda people: people.ada.get("/auth/passkeys"),
    "passkeys-refused": lambda people: post(people.ada, "/auth/passkeys", {"name": ""}),
    "passkeys-several": lambda people: with_passkeys(people),
    "second-passkey-alone": lambda people: in_the_second_step(people, "Lin"),
    "recovery-codes": lambda people: after(people.lin, "/auth/recovery-codes?done=added", "Phone"),
    "recovery-codes-passkey": lambda people: after(
        people.lin, "/auth/recovery-codes?done=passkey", "Laptop"
    ),
    "recovery-codes-new": lambda people: post(people.lin, "/auth/recovery-codes", {"x": ""}),
    "second-passkey": lambda people: in_the_second_step(people, "Lin"),
    "second-passkey-refused": lambda people: post(
        in_the_second_step(people, "Lin").test_app, "/auth/second", {"code": "x", "trust": "on"}
    ),
    "confirm-passkey": lambda people: people.lin.get("/auth/confirm"),
    "second": lambda people: people.mary.get("/auth/second"),
    "second-refused": lambda people: post(people.mary, "/auth/second", {"code": "x"}),
    "sessions-trusted": lambda people: in_a_trusted_browser(people, "Mary-Lou"),
    "confirm-factor": lambda people: with_an_app(people),
    "account-staff": lambda people: people.ada.get("/auth/account"),
    "error-401": lambda people: people.visitor(login_required(echo)).get("/", status=401),
    "error-403": lambda people: people.grace.get("/reports", status=403),
    "error-404": lambda people: people.stranger.get("/auth/nowhere", status=404),
    "error-member": lambda people: people.grace.get("/auth/nowhere", status=404),
    "error-503": lambda people: people.visitor(without_database).get("/", status=503),
    "error-503-form": lambda _: shown(UNAVAILABLE),
    "error-429": lambda _: shown(THROTTLED),
    "login-waits": lambda _: shown(PAGES["login.html"].replaced(message=THROTTLED.detail)),
    "logged-out": lambda people: with_an_ended_login(people.visitor(echo)),
    "unnamed": lambda people: Pages("/auth").render(REQUEST, PAGES["login.html"]),
    "logo": lambda people: Pages("/auth", site_name=SITE_NAME, logo="/icon.svg").render(
        REQUEST, PAGES["login.html"]
    ),
    "brand": lambda _: branded("#ffd400", PAGES["login.html"]),
    "brand-account": lambda _: branded("#003366", PAGES["account.html"]),
    "brand-staff": lambda _: branded("#ff6600", PAGES["admin/user.html"]),
}
THROTTLED = ErrorPage(
    status=429,
    title="Too many attempts",
    detail=Joined(["There were too many failed attempts to log in.", try_again_in(300)]),
    links={"/auth/login": "Try again"},
)
UNAVAILABLE = ErrorPage(
    status=503,
    title="Accounts are not available at the moment",
    detail="This page needs the accounts of this site, which do not answer now.",
    again_url="/auth/username",
    again_fields=(("username", "ada"),),
)
EXAMPLES = {
    f"example-{name.removesuffix('.html').replace('/', '-')}": page for name, page in PAGES.items()
}
NAMES = (*ANSWERS, *EXAMPLES)


def bare_sample(folder):
    """Return the sample's site without its middleware; the import opens a database in `folder`."""
    environ = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": f"sqlite:///{folder}/sample.db"}
    with patch.dict(os.environ, environ):
        return importlib.import_module("sample_wsgi").site


class Gallery:
    """A WSGI app that answers /NAME with the page of that name.

    Args:
        folder: Where its databases are made.
        language: What the browsers of the people in it ask for.
        database_url: Of an empty database; None: in `folder`.
    """

    def __init__(self, folder, language="en", database_url=None):
        self._asks = {"HTTP_ACCEPT_LANGUAGE": language}
        self._settings = Settings(
            SECRET_KEY=SECRET_KEY,
            BCRYPT_ROUNDS=4,
            DATABASE_URL=database_url or f"sqlite:///{folder}/gallery.db",
            SITE_NAME=SITE_NAME,
            FACTOR_KEY=FACTOR_KEY,
            PASSKEYS=True,
            TRUSTED_BROWSER_DAYS=30,
            **MAIL,
        )
        sample = bare_sample(folder)
        self.stranger, self.ada, self.grace, self.lin, self.boss = (
            self.visitor(sample) for _ in range(5)
        )
        ada = create_user(USERNAME, EMAIL, PASSWORD, settings=self._settings, is_staff=True)
        ada.grant("reports.publish")
        link = make_reset_link(ada, self._settings, mount="/auth", now=time.time())
        self.link = link.removeprefix(MAIL["PUBLIC_URL"])
        url = make_address_link(
            ada, "ada@example.net", self._settings, mount="/auth", now=time.time()
        )
        self.address_link = url.removeprefix(MAIL["PUBLIC_URL"])
        self.common_password = {"token": link.partition("=")[2], "password": "password"}
        invited = Invitation(email="mary@example.org", username="Mary")
        link = issue_invitation(invited, None, self._settings, mount="/auth", now=time.time()) or ""
        self.invitation = link.removeprefix(MAIL["PUBLIC_URL"])
        self.taken_name = {
            "token": link.partition("=")[2],
            "username": USERNAME,
            "password": PASSWORD,
        }
        for name in ("Grace", "Lin"):
            create_user(name, f"{name}@example.org", PASSWORD, settings=self._settings)
        create_user(
            "Katherine",
            "katherine.coleman-johnson@orbital-mechanics.example.org",
            PASSWORD,
            settings=self._settings,
            is_staff=True,
            is_superuser=True,
        )
        editors = Group.objects.create(name="Editors of the quarterly reports")
        editors.grant("reports.publish", "reports.archive")
        for name in (USERNAME, "Lin"):
            User.get(User.username == name).join(editors)
        insert_users(60)
        desk = Group.objects.create(name="Front desk")
        for user in User.select():
            user.join(desk)
        User.update(is_active=False).where(User.username == "User58").execute()
        phone = self.visitor(sample, SAFARI, "2001:db8:85a3:8d3:1319:8a2e:370:7348")
        log_in(phone, USERNAME, PASSWORD)
        let_logins_have_begun_before(timedelta(days=3, hours=5, minutes=20))
        log_in(self.ada, USERNAME, PASSWORD)
        log_in(self.grace, "Grace", PASSWORD)
        let_a_refresh_token_be_reused(self.visitor(sample, "python-httpx/0.28"), "Lin")
        log_in(self.lin, "Lin", PASSWORD)
        log_in(self.boss, "Katherine", PASSWORD)
        self.site, self.mary = self.lin.app, self.visitor(sample)
        mary = create_user("Mary-Lou", "ml@example.org", PASSWORD, settings=self._settings)
        add_app(self.site, mary)
        recovery_codes.replace(mary, rounds=4)
        mary.grant("reports.publish", "reports.archive")
        make_key(mary, "Nightly export to the archive", ["reports.archive", "reports.publish"])
        make_key(mary, "Backup")
        log_in(self.mary, "Mary-Lou", PASSWORD)
        pages, request = Pages("/auth", site_name=SITE_NAME), {**REQUEST, **self._asks}
        self._answers = {name: pages.render(request, page) for name, page in EXAMPLES.items()}
        self._answers |= {name: answer(self) for name, answer in ANSWERS.items()}
        icon = OWN["icon.svg"].read_bytes()
        self._answers["icon.svg"] = Response(body=icon, content_type="image/svg+xml")

    def visitor(self, app, agent=FIREFOX, address="192.0.2.1", **options):
        """Return a new browser at an application that uses wsgiauth."""
        site = AuthMiddleware(app, self._settings, send_mail=Post(), **options)
        environ = {"HTTP_USER_AGENT": agent, "REMOTE_ADDR": address}
        environ |= {"HTTP_ACCEPT": BROWSER["Accept"], **self._asks}
        return TestApp(site, extra_environ=environ)

    def __call__(self, environ, start_response):
        name = environ["PATH_INFO"].removeprefix("/")
        answer = Request(environ).get_response(self._answers[name])
        if name != ELSEWHERE:  # passkeys work where the gallery is served
            public, own = (
                f"&#34;origin&#34;: &#34;{each}&#34;".encode()
                for each in (MAIL["PUBLIC_URL"], f"http://{environ['HTTP_HOST']}")
            )
            answer.body = answer.body.replace(public, own)
        return answer(environ, start_response)


def shown(page):
    """Show a page in a state that takes many requests."""
    return Pages("/auth", site_name=SITE_NAME).render(REQUEST, page)


def branded(color, page):
    """Show a page in the colour of its site, with a logo for light pages and one for dark pages."""
    logos = {"logo": "/icon.svg", "logo_dark": "/icon.svg?dark"}
    return Pages("/auth", site_name=SITE_NAME, color=color, **logos).render(REQUEST, page)


def log_in(visitor, username, password):
    return post(visitor, "/auth/login", {"username": username, "password": password})


def post(visitor, path, fields):
    return visitor.post(path, fields, headers=SAME_ORIGIN, status="*")


def after(visitor, location, name=""):
    """Open a page to which the answer to a form leads."""
    environ = {"wsgiauth.site": visitor.app.site, "wsgi.url_scheme": "http"}
    ((_, cookie),) = done_cookies(environ, location, name)
    visitor.set_cookie(*cookie.partition(";")[0].split("=", 1))
    return visitor.get(location)


def let_logins_have_begun_before(age):
    for session in Session.select():
        session.created_at -= age
        session.last_seen_at -= 600
        session.save()


def let_a_refresh_token_be_reused(program, username):
    credentials = {"username": username, "password": PASSWORD, "refresh": True}
    token = program.post_json("/auth/login", credentials).json["refresh_token"]
    first = {"refresh_token": token}
    second = {"refresh_token": program.post_json("/auth/refresh", first).json["refresh_token"]}
    token = program.post_json("/auth/refresh", second).json["access_token"]
    program.get("/auth/me", headers={"Authorization": f"Bearer {token}"})
    program.post_json("/auth/refresh", first, status=401)


def page_of_mary():
    return f"/auth/admin/users/{User.get(User.username == 'Mary-Lou').id}"


def with_failed_logins(people):
    name, email = "Mary-Lou", "ml@example.org"
    code = {"username": email, "password": PASSWORD, "code": "1"}
    people.visitor(echo).post_json("/auth/login", code, status=401)
    log_in(people.visitor(echo, address="2001:db8:85a3:8d3:1319:8a2e:370:7348"), email, "wrong")
    for _ in range(5):
        log_in(people.visitor(echo, address="203.0.113.9"), name, "wrong")
    AttemptCount.update(retry_at=time.time() + 500).where(AttemptCount.retry_at > 0).execute()
    page = people.boss.get(page_of_mary())
    AttemptCount.update(retry_at=0).execute()
    return page


def with_invitations(people):
    for fields in (
        {"email": "joan@example.org"},
        {"email": "una.from.the.far.north@mail.example.com", "username": "una", "is_staff": "on"},
    ):
        post(people.boss, "/auth/admin/invite", fields)
    return people.boss.get("/auth/admin/invitations")


def with_chosen_users(page):
    """Choose the users, and leave out the search, so that the bar is over none of them."""
    page.text = re.sub('<form class="search".*?</form>', "", page.text, flags=re.DOTALL)
    page.text = page.text.replace('name="users"', 'name="users" checked')
    return page


def set_up_an_app(visitor):
    post(visitor, "/auth/totp", {"name": "Phone"})
    return visitor.get("/auth/totp")


def with_passkeys(people):
    user = User.get(User.username == "Lin")
    for name in ("Laptop", "Blue key of the reading room"):
        key = Authenticator()
        key.host, key.origin = "example.org", MAIL["PUBLIC_URL"]
        add_passkey(people.site, user, name, key)
    Passkey.update(is_backed_up=True, last_used_at=time.time()).where(
        Passkey.name == "Laptop"
    ).execute()
    Session.update(methods="pwd hwk").where(Session.user == user).execute()
    return after(people.lin, "/auth/passkeys?done=passkey", "Laptop")


def in_the_second_step(people, username):
    visitor = people.visitor(echo)
    log_in(visitor, username, PASSWORD)
    return visitor.get("/auth/second")


def in_a_trusted_browser(people, username):
    visitor = people.visitor(echo)
    log_in(visitor, username, PASSWORD)
    code, *_ = recovery_codes.replace(User.get(User.username == username), rounds=4)
    post(visitor, "/auth/second", {"code": code, "trust": "on"})
    return visitor.get("/auth/sessions")


def with_an_app(people):
    add_app(people.site, User.get(User.username == "Lin"))
    return people.lin.get("/auth/confirm")


def with_an_ended_login(visitor):
    visitor.set_cookie("wsgiauth", "ended")
    return visitor.get("/auth/login")


def without_database(environ, start_response):
    return unavailable(environ, OperationalError("away"))(environ, start_response)
