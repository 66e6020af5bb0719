"""What is measured: one request or call of each kind, for users all over the tables."""

import json
import time
from collections.abc import Callable
from urllib.parse import urlencode

from tests.conftest import HASH_OF_PASSWORD
from tests.load.million.fill import add_expired
from tests.load.million.site import Filled
from tests.load.panel import PAGES, row_of, url_of
from tests.support.declared import COMPOSERS
from tests.support.sites import BROWSER, PASSWORD
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.events.models import purge_events
from wsgiauth.mail.outbox import Mail, Outbox
from wsgiauth.mail.transports import MailServerError
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.throttling.counts import AttemptCount

NEW_PASSWORD = "three further unrelated words"
TRAIL = {
    "the newest": {},
    "of a user": {"user": "{user}"},
    "of a user by name": {"user": "{name}"},
    "of an actor": {"actor": "user {user}"},
    "of a common actor": {"actor": "user 1"},
    "of the command line": {"actor": "command line"},
    "of a common event": {"name": "login"},
    "of a rare event": {"name": "users_exported"},
    "of no event": {"name": "passkey_cloned"},
    "of a user and an event": {"user": "{user}", "name": "key_created"},
    "of a common actor and a rare event": {"actor": "user 1", "name": "users_exported"},
    "of a day": {"since": "{day}", "until": "{next_day}"},
    "the middle": {"before": "{middle}"},
    "the last": {"before": "{last}"},
    "the middle of a common event": {"name": "login", "before": "{middle}"},
}


def as_user(token):
    return {"HTTP_AUTHORIZATION": f"Bearer {token}"}


def seen_token(site):
    return site.ask("GET", "/", **as_user(site.token(7)))[0]


def new_token(site):
    return site.ask("GET", "/", **as_user(site.token(site.number())))[0]


def cookie(site):
    name = "wsgiauth"
    return site.ask("GET", "/", HTTP_COOKIE=f"{name}={site.token(site.number(), 1)}")[0]


def api_key(site):
    return site.ask("GET", "/", **as_user(site.key()))[0]


def unknown_session(site):
    token = site.site.tokens.issue(site.number(), "x" * 22, int(time.time()) + 1000)
    return site.ask("GET", "/", **as_user(token))[0]


def credentials(site, number=None):
    name = row_of(number or site.number())["username"]
    return {"username": name, "password": PASSWORD}


def login(site, **further):
    number = next(n for n in iter(site.number, None) if n % 10 > 2)  # without a second factor
    return site.ask("POST", "/auth/login", credentials(site, number) | further)


def login_time(site):
    return login(site)[0]


def wrong_password(site):
    wrong = credentials(site) | {"password": "wrong"}
    return site.ask("POST", "/auth/login", wrong, status=(401,))[0]


def unknown_name(site):
    wrong = {"username": f"nobody{time.monotonic_ns()}", "password": "wrong"}
    return site.ask("POST", "/auth/login", wrong, status=(401,))[0]


def logout(site):
    token = json.loads(login(site)[1])["access_token"]
    return site.ask("POST", "/auth/logout", {}, **as_user(token))[0]


def refresh(site):
    token = json.loads(login(site, refresh=True)[1])["refresh_token"]
    return site.ask("POST", "/auth/refresh", {"refresh_token": token})[0]


def page_of_user(path):
    def measure(site):
        token = site.token(site.number(), 1)
        return site.ask("GET", path, **as_user(token), HTTP_ACCEPT=BROWSER["Accept"])[0]

    return measure


def change_password(site):
    number = site.number()
    body = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    seconds, _ = site.ask("POST", "/auth/password", body, **as_user(site.token(number)))
    with site.using():  # as before, for another measurement
        User.update(hashed_password=HASH_OF_PASSWORD, security_stamp=User.security_stamp - 1).where(
            User.id == number
        ).execute()
    return seconds


def register(site):
    name = f"New{time.monotonic_ns()}"
    body = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
    return site.ask("POST", "/auth/register", body, status=(201,))[0]


def register_taken(site):
    body = credentials(site) | {"email": f"x{time.monotonic_ns()}@example.org"}
    return site.ask("POST", "/auth/register", body, status=(409,))[0]


def forgot(site):
    body = {"username": row_of(site.number())["username"]}
    return site.ask("POST", "/auth/forgot", body, status=(200, 202))[0]


def purge(site, number=1000):
    """Purge sessions, counts and events of the audit trail, so many of each."""
    add_expired(site.database, site.users, number, others=number)
    now = time.time()
    with site.using():
        begun = time.perf_counter()
        purged = purge_expired(Session, now), purge_expired(AttemptCount, now)
        old = purge_events(now, 365)
        seconds = time.perf_counter() - begun
        if min(*purged, old) < number:
            raise RuntimeError(f"only {purged} and {old} rows were purged")
        site.database.execute_sql("VACUUM wsgiauth_session, wsgiauth_attempt_count, wsgiauth_event")
    return seconds


class OneTaken:
    """A mail server that takes one email and then no more."""

    def __init__(self):
        self.has_taken = False

    def __call__(self, message):
        if self.has_taken:
            raise MailServerError("full")
        self.has_taken = True


def send_mail(site):
    transport = OneTaken()
    outbox = Outbox(site.site.settings, transport, COMPOSERS)
    with site.using():
        before = Mail.select().count()
        begun = time.perf_counter()
        outbox.deliver()
        seconds = time.perf_counter() - begun
        if Mail.select().count() != before - 1 or not transport.has_taken:
            raise RuntimeError("no email was sent")
    return seconds


def panel_page(query):
    return lambda site: site.page(url_of(query, site.users))


def page_of_trail(fields):
    def measure(site):
        number = site.number()
        given = {name: site.fill_in(value, number) for name, value in fields.items()}
        return site.page(f"/auth/admin/events?{urlencode(given)}")

    return measure


MEASURED: dict[str, Callable[[Filled], float]] = {
    "bearer token, seen before": seen_token,
    "bearer token, new": new_token,
    "cookie": cookie,
    "API key": api_key,
    "session that has ended": unknown_session,
    "login": login_time,
    "login, wrong password": wrong_password,
    "login, unknown name": unknown_name,
    "logout": logout,
    "refresh": refresh,
    "/auth/account": page_of_user("/auth/account"),
    "/auth/sessions": page_of_user("/auth/sessions"),
    "/auth/keys": page_of_user("/auth/keys"),
    "new password": change_password,
    "registration": register,
    "registration, name taken": register_taken,
    "/auth/forgot": forgot,
    "purge of 1,000 rows of 3 tables": purge,
    "an email claimed and sent": send_mail,
    "the overview": lambda site: site.page("/auth/admin"),
    "a user": lambda site: site.page(f"/auth/admin/users/{site.number()}"),
    "groups": lambda site: site.page("/auth/admin/groups"),
    "a large group": lambda site: site.page("/auth/admin/groups/1"),
    **{f"trail: {name}": page_of_trail(fields) for name, fields in TRAIL.items()},
    **{f"users: {name}": panel_page(query) for name, query in PAGES.items()},
}
