"""Secrets: whatever happens, none is in a log, an answer, an error, a `repr` or the database.

Every secret here has a canary in it, and what is written anywhere is searched for canaries. What
was typed as a name has a finch in it: a name may reach a query, where Peewee's own log shows it at
level DEBUG, and a form shows it to whoever typed it.
"""

import base64
import io
import json
import logging
import re
import socket
import sys
import threading
import time
import traceback
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

from tests.conftest import SERVERS, empty_tables
from tests.support import factors, features, sites
from tests.support.declared import LETTER_SAMPLES as LETTERS
from tests.support.driving import make_site
from tests.support.factors import App
from tests.support.mails import Clock, with_mail
from tests.support.sites import BROWSER, EMAIL, SAME_ORIGIN, USERNAME, echo
from tests.web.pages import SAMPLES
from wsgiauth import (
    AuthMiddleware,
    Settings,
    User,
    change_password,
    login_required,
    permission_required,
    storage,
)
from wsgiauth.accounts import create_user
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.authentication import pending
from wsgiauth.cli import main
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ConfigurationError, TakenError, ValidationError, WsgiAuthError
from wsgiauth.features.factors import totp
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.keys import api_keys
from wsgiauth.features.registry import FEATURES
from wsgiauth.mail.letters import Addressed
from wsgiauth.site import Site
from wsgiauth.storage import context
from wsgiauth.testing import bearer, mailbox

pytestmark = pytest.mark.promise(30)

SECRET_KEY = "canaryR3vJ8qWz1mT6yBn4cXf9sLp2dHg7aUe5oViQwMtYrZxN0bCjKlEuPGhSDA"
FACTOR_KEY = "canaryT5nQe2LwZ9vKc4RtXb8MdHs3UgJ6fAoYpW1"
FALLBACK_KEY = "CanaryW2xN7bKd5vQ9sHj3mT1rYz6pL4cFg8aUe0oViXwMtBqZkJnRlEuPhSDGyA"
PASSWORD = "four canary words"
NEW_PASSWORD = "other canary birds"
WRONG_PASSWORD = "mistyped canary words"
GARBAGE = "eyJcanary.eyJcanary.canary"
NAME_LIKE_PASSWORD = "Four-Finch-Words"
UNLIKELY_NAME = "four finch words"

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
WRONG = {"username": USERNAME, "password": WRONG_PASSWORD}
ACCOUNT = {"username": "Grace", "email": "grace@example.org", "password": NEW_PASSWORD}

# Of a log record: numbers that could be six digits long, as codes are.
CLOCKS = ("created", "msecs", "relativeCreated", "process", "thread")

# Where tokens and cookies are handed out.
GIVING = ("/auth/login", "/auth/register", "/auth/second", "/auth/confirm")


class Watch:
    """Everything that is written anywhere, and the search for secrets in it."""

    def __init__(self, caplog, capsys, folder):
        self._caplog = caplog
        self._capsys = capsys
        self._folder = folder
        self._written = set()
        self._secrets = set()
        self._codes = set()

    def note(self, where, *texts):
        self._written |= {(where, str(text)) for text in texts}

    def note_error(self, where, error):
        """Note all that an exception shows, and those behind it, suppressed or not."""
        waiting, seen = [error], []
        while waiting:
            each = waiting.pop()
            if each is None or each in seen:
                continue
            seen.append(each)
            waiting += [each.__cause__, each.__context__]
            self.note(where, each, repr(each), repr(each.args))
            self.note(where, *traceback.format_exception(each))
            if isinstance(each, WsgiAuthError):
                self.note(where, vars(each))

    def note_answer(self, request, answer):
        """Note an answer, less the token or the key in the places where it belongs."""
        headers, body = answer.headerlist, answer.text
        if request.path == "/auth/keys" and answer.status_int == 201:
            if answer.content_type == "application/json":
                document = answer.json
                key = document.pop("key")
                body = json.dumps(document)
            else:
                key = answer.html.find("code").text
                body = body.replace(key, "", 1)
            self.note_key(key)
        if request.method == "POST" and request.path in GIVING:
            if answer.status_int == 200:
                document = answer.json
                self.hide(signature(document.pop("access_token")))
                body = json.dumps(document)
            elif answer.status_int == 303:
                cookies = answer.headers.getall("Set-Cookie")
                values = {each.partition(";")[0].partition("=")[2] for each in cookies}
                secrets = {each for each in values if not re.fullmatch(r"\d*\+?", each)}  # ids
                self.hide(*map(signature, secrets))
                headers = [each for each in headers if each[0] != "Set-Cookie"]
        self.note(f"answer to {request.path}", answer.status, headers, body)

    def note_key(self, key):
        """Search for a key, too."""
        self.hide(key[22:])

    def hide(self, *secrets):
        """Search for these, too, in any letter case."""
        assert all(len(each) >= 8 for each in secrets)  # a shorter one could be found by chance
        self._secrets |= {each.lower() for each in secrets}

    def hide_codes(self, *codes):
        """Search for these codes, too, but not in longer words, in fractions or in colours."""
        self._codes |= {*codes}

    def allow_key(self):
        """Take the key that a command has just printed for a secret, which no text has again."""
        *_, key = self._capsys.readouterr().out.split()
        self.note_key(key)

    def finds(self, bird="canary"):
        """Return where a secret is: one with the bird in it, or the signature of a token."""
        secrets = {bird, *self._secrets}
        self._note_the_rest()
        return sorted(
            f"{where}: {text}"
            for where, text in self._written
            if is_in(text.lower(), secrets) or self._has_code(text)
        )

    def _has_code(self, text):
        codes = rf"(?<![0-9A-Za-z.#])({'|'.join(sorted(self._codes))})(?![0-9A-Za-z])"
        return self._codes and re.search(codes, text)

    def _note_the_rest(self):
        records = [*self._caplog.get_records("setup"), *self._caplog.get_records("call")]
        for record in records:
            where = f"log of {record.name}"
            fields = {name: each for name, each in vars(record).items() if name not in CLOCKS}
            self.note(where, record.getMessage(), repr(record.args), fields)
            if record.exc_info:
                self.note_error(where, record.exc_info[1])
        self.note("command line", *self._capsys.readouterr())
        for path in self._folder.iterdir():
            if path.is_file():
                self.note(path.name, path.read_bytes().decode("latin-1"))


def is_in(text, secrets):
    return any(secret in text for secret in secrets)


def signature(token):
    """Return the last part of a token, or all of a cookie that is none."""
    return token.rpartition(".")[2]


class Client(TestApp):
    """A client whose answers are watched."""

    def __init__(self, app, watch):
        super().__init__(app)
        self._watch = watch

    def do_request(self, request, *arguments, **options):
        answer = super().do_request(request, *arguments, **options)
        self._watch.note_answer(request, answer)
        return answer


@pytest.fixture
def settings(database_url):
    return Settings(
        SECRET_KEY=SECRET_KEY,
        SECRET_KEY_FALLBACKS=(FALLBACK_KEY,),
        BCRYPT_ROUNDS=4,
        DATABASE_URL=database_url,
        LANGUAGES=("en",),
    )


@pytest.fixture
def watch(caplog, capsys, database_folder):
    caplog.set_level(logging.DEBUG)
    return Watch(caplog, capsys, database_folder)


@pytest.fixture
def ada(settings, site):
    return create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


@pytest.fixture
def client(stopped_throttle, settings, site, ada, watch):
    return Client(site, watch)


def log_in(client):
    token = client.post_json("/auth/login", CREDENTIALS, status=200).json["access_token"]
    return {"Authorization": f"Bearer {token}"}


# Over HTTP.


def register(client):
    client.post_json("/auth/register", ACCOUNT, status=201)
    fields = {"username": "Mary", "email": "mary@example.org", "password": NEW_PASSWORD}
    client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)


def be_refused_an_account(client):
    for refused in (
        {**ACCOUNT, "username": USERNAME},
        {**ACCOUNT, "username": "a da"},
        {**ACCOUNT, "password": "canary"},
        {**ACCOUNT, "password": PASSWORD + "\0"},
        {**ACCOUNT, "password": PASSWORD * 9},
        {**ACCOUNT, "password": ["canary"]},
        {"canary": PASSWORD},
    ):
        client.post_json("/auth/register", refused, status="4*")
        client.post("/auth/register", refused, headers=SAME_ORIGIN, status="4*")


def log_in_and_out(client):
    headers = log_in(client)
    for path in ("/", "/auth/me", "/auth/logout", "/", "/auth/me"):
        client.get(path, headers=headers, status="*")
        client.get(path, headers={**BROWSER, **headers}, status="*")


def log_in_and_out_by_form(client):
    client.get("/auth/login?next=/", headers=BROWSER)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    for path in ("/", "/auth/me", "/auth/logout", "/auth/me"):
        client.get(path, headers=SAME_ORIGIN, status="*")


def prove_again_and_change_the_password(client):
    for form, path in (
        ({"password": WRONG_PASSWORD}, "confirm"),
        ({"password": PASSWORD}, "confirm"),
        ({"current_password": WRONG_PASSWORD, "new_password": NEW_PASSWORD}, "password"),
        ({"current_password": PASSWORD, "new_password": "canary"}, "password"),
        ({"current_password": PASSWORD, "new_password": PASSWORD * 9}, "password"),
        ({"current_password": PASSWORD, "new_password": ["canary"]}, "password"),
        ({"current_password": PASSWORD, "new_password": PASSWORD}, "password"),
    ):
        client.post_json(f"/auth/{path}", form, headers=log_in(client), status="*")
        client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
        client.get(f"/auth/{path}", headers=BROWSER, status=200)
        client.post(f"/auth/{path}", form, headers=SAME_ORIGIN, status="*")


def guess_until_throttled(client):
    for _ in range(7):
        client.post_json("/auth/login", WRONG, status="4*")
        client.post("/auth/login", WRONG, headers=SAME_ORIGIN, status="4*")
    client.post_json("/auth/login", CREDENTIALS, status=429)


def log_in_while_inactive(client):
    User.update(is_active=False).execute()
    client.post_json("/auth/login", CREDENTIALS, status=401)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=401)


def log_in_with_a_spoilt_hash(client):
    storage.current().execute_sql("UPDATE wsgiauth_user SET hashed_password = 'x'")
    client.post_json("/auth/login", CREDENTIALS, status=401)


def be_refused_as_another_site(client):
    for path, fields in (("login", CREDENTIALS), ("register", ACCOUNT), ("logout", {})):
        headers = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
        client.post(f"/auth/{path}", fields, headers=headers, status=403)


def send_what_is_malformed(client):
    whole = json.dumps(CREDENTIALS)
    form = "application/x-www-form-urlencoded"
    for content_type, body in (
        ("application/json", whole[:-1]),
        ("application/json", whole.replace("words", "\\ud800")),
        ("application/json", whole.encode("utf-16")),
        ("application/json", b'{"password": "canary\xff"}'),
        ("application/json", '{"password": "canary", "password": "canary"}'),
        ("application/json", '{"username": "a", "password": {"canary": NaN}}'),
        ("application/json", f"[{whole}]"),
        ("application/json", whole + " " * 17_000),
        ("application/json; charset=canary", whole),
        ("text/canary", whole),
        (form, "password=canary%ff"),
        (form, b"password=canary\xff"),
        (form, "password=canary&password=canary"),
        (form, "canary&" * 30),
    ):
        for path in ("/auth/login", "/auth/register"):
            headers = {"Content-Type": content_type}
            client.post(path, body, headers=headers, status="4*")
            client.post(path, body, headers={**SAME_ORIGIN, **headers}, status="4*")


def send_garbage_for_tokens(client):
    token = log_in(client)["Authorization"].partition(" ")[2]
    for authorization in (
        f"Bearer {GARBAGE}",
        f"Bearer {token}=",
        f"Bearer {token[:-4]}AAAA",
        f"Bearer {token} canary",
        "Bearer " + "canary" * 1000,
        "Bearer canary.\xff.canary",
        "Basic canary",
        "canary",
    ):
        for path in ("/", "/auth/me", "/auth/logout"):
            headers = {"Authorization": authorization}
            client.get(path, headers=headers, status="*")
            client.get(path, headers={**BROWSER, **headers}, status="*")


def send_garbage_for_cookies(client):
    for cookie in (
        f"wsgiauth={GARBAGE}",
        f"wsgiauth={GARBAGE}; wsgiauth={GARBAGE}",
        "theme=canary",
        "canary",
        f"wsgiauth={'canary' * 2000}",
    ):
        for path in ("/", "/auth/me"):
            client.get(path, headers={"Cookie": cookie}, status="*")
            client.get(path, headers={**BROWSER, "Cookie": cookie}, status="*")


def give_a_name_without_a_chance(client):
    for name in (PASSWORD, f"{PASSWORD}@", PASSWORD * 99, "canary\nbird"):
        client.post_json("/auth/login", {"username": name, "password": PASSWORD}, status=401)


def make_use_and_end_keys(client):
    headers = log_in(client)
    User.get().grant("a.b")
    fields = {"name": "export", "permissions": ["a.b"]}
    made = client.post_json("/auth/keys", fields, headers=headers, status=201)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    page = client.get("/auth/keys", headers=BROWSER)
    form = page.forms[len(page.forms) - 1]
    form["name"] = "other"
    form.set("permissions", True, index=0)
    form.submit(headers=SAME_ORIGIN, status=201)
    client.get("/auth/keys", headers=BROWSER)
    key = made.json["key"]
    for text in (key, key[:-1] + ("0" if key[-1] != "0" else "1")):
        for path in ("/", "/auth/me", "/auth/keys", "/auth/sessions"):
            client.get(path, headers={"Authorization": f"Bearer {text}"}, status="*")
            client.get(path, headers={**BROWSER, "Authorization": f"Bearer {text}"}, status="*")
    client.post_json("/auth/keys", {"end": made.json["id"]}, headers=headers, status=200)


def lose_the_database(client):
    headers = log_in(client)
    storage.current().execute_sql("ALTER TABLE wsgiauth_user RENAME TO gone")
    client.get("/", headers=headers, status=503)
    client.get("/auth/me", headers={**BROWSER, **headers}, status=503)
    for path, fields in (("login", CREDENTIALS), ("register", ACCOUNT)):
        client.post_json(f"/auth/{path}", fields, status=503)
        client.post(f"/auth/{path}", fields, headers=SAME_ORIGIN, status=503)


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(register, id="registration"),
        pytest.param(be_refused_an_account, id="refused registration"),
        pytest.param(log_in_and_out, id="token"),
        pytest.param(log_in_and_out_by_form, id="cookie"),
        pytest.param(prove_again_and_change_the_password, id="change of the password"),
        pytest.param(guess_until_throttled, id="guessing"),
        pytest.param(log_in_while_inactive, id="inactive user"),
        pytest.param(log_in_with_a_spoilt_hash, id="spoilt hash"),
        pytest.param(be_refused_as_another_site, id="another site"),
        pytest.param(send_what_is_malformed, id="malformed bodies"),
        pytest.param(send_garbage_for_tokens, id="garbage tokens"),
        pytest.param(send_garbage_for_cookies, id="garbage cookies"),
        pytest.param(give_a_name_without_a_chance, id="password for a name"),
        pytest.param(make_use_and_end_keys, id="API keys"),
        pytest.param(lose_the_database, id="database away"),
    ],
)
def test_no_secret_shows_over_http(client, watch, scenario):
    scenario(client)
    assert watch.finds() == []


@pytest.mark.parametrize("feature", features.declared("drive"))
def test_no_secret_shows_of_what_a_feature_does(
    database_url, tmp_path, provider, unsent, watch, feature
):
    watch.hide(sites.PASSWORD, factors.FACTOR_KEY)
    site = make_site(database_url, tmp_path, provider, SECRET_KEY=SECRET_KEY)
    with context.using(site.database):
        features.declared("drive")[feature](site, provider)
    assert watch.finds() == []


def test_no_secret_shows_at_a_guard(settings, ada, watch):
    bare = login_required(echo)
    redirecting = login_required(redirect_url="/auth/login")(echo)
    permitting = permission_required("a.b", redirect_url="/auth/login")(echo)
    for app in (bare, redirecting, permitting):
        client = Client(AuthMiddleware(app, settings), watch)
        for headers in ({}, {"Authorization": f"Bearer {GARBAGE}"}, log_in(client)):
            client.get("/", headers=headers, status="*")
            client.get("/", headers={**BROWSER, **headers}, status="*")
    storage.discard_connection(storage.current())
    assert watch.finds() == []


def test_an_exception_of_the_application_shows_no_secret(settings, ada, watch):
    def fail(environ, start_response):
        raise LookupError("the app's own")

    client = Client(AuthMiddleware(fail, settings), watch)
    headers = log_in(client)
    cookie = headers["Authorization"].replace("Bearer ", "wsgiauth=")
    for credentials in (headers, {"Cookie": cookie}):
        with pytest.raises(LookupError) as raised:
            client.get("/", headers=credentials)
        watch.note_error("the app's exception", raised.value)
    assert watch.finds() == []


def test_no_secret_shows_of_a_login_that_a_fallback_signed(settings, ada, watch):
    before = replace(settings, SECRET_KEY=FALLBACK_KEY, SECRET_KEY_FALLBACKS=())
    headers = log_in(Client(AuthMiddleware(echo, before), watch))
    client = Client(AuthMiddleware(echo, settings), watch)
    assert client.get("/", headers=headers).json["user"] == USERNAME
    for path in ("/auth/me", "/auth/logout", "/", "/auth/me"):
        client.get(path, headers=headers, status="*")
        client.get(path, headers={**BROWSER, **headers}, status="*")
    assert watch.finds() == []


def test_an_exception_of_a_subscriber_shows_no_secret(settings, ada, watch):
    def fail(event):
        watch.note("event", event, repr(event))
        raise LookupError(event)

    client = Client(AuthMiddleware(echo, settings, on_event=fail), watch)
    client.post_json("/auth/login", WRONG, status=401)
    register(client)
    log_in_and_out_by_form(client)
    assert watch.finds() == []


@pytest.mark.parametrize("name", [NAME_LIKE_PASSWORD, UNLIKELY_NAME])
def test_a_password_typed_as_a_name_is_told_to_nobody_else(client, watch, name):
    fields = {"username": name, "password": "x"}
    for _ in range(7):
        client.post_json("/auth/login", fields, status="4*")
    client.post("/auth/login", fields, headers={"Sec-Fetch-Site": "cross-site"}, status=403)
    assert watch.finds("finch") == []


def test_a_form_shows_its_typist_the_name_but_not_the_password(client, watch):
    fields = {"username": UNLIKELY_NAME, "password": WRONG_PASSWORD}
    refused = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=401)
    assert refused.text.count("finch") == refused.text.count(f'value="{UNLIKELY_NAME}"') == 1
    assert watch.finds() == []


# Second factors. Their pages show secrets to the user, once, so those answers are not searched.


@pytest.fixture
def heard():
    """Return the list of the events of `factors_site`."""
    return []


@pytest.fixture
def factors_site(stopped_throttle, settings, heard):
    made = with_mail(settings, FACTOR_KEY=FACTOR_KEY, MAIL_URL="memory:")
    site = AuthMiddleware(echo, made, on_event=heard.append)
    site.site.tokens.now = Clock(int(time.time()))
    yield site
    storage.discard_connection(site.database)


@pytest.fixture
def finds(factors_site, heard, watch):
    """Return a function that searches mails and events, too."""

    def search():
        watch.note("mails", *mailbox(factors_site))
        watch.note("events", *heard, *map(repr, heard))
        assert heard
        return watch.finds()

    return search


@pytest.fixture
def owner(factors_site, settings):
    return create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


@pytest.fixture
def browser(factors_site, owner, watch):
    return Client(factors_site, watch)


@pytest.fixture
def app(factors_site, owner, watch):
    """Return an app that a program has set up; its key, in each form, is searched for."""
    headers = bearer(factors_site, owner)
    unseen, client = TestApp(factors_site), Client(factors_site, watch)
    begun = unseen.post_json("/auth/totp", {"name": "Phone"}, headers=headers, status=201).json
    page = unseen.get("/auth/totp", headers={**BROWSER, **headers})
    secret = begun["secret"]
    key = base64.b32decode(secret)
    in_groups = page.html.find(class_="key").text
    assert in_groups.replace(" ", "") == secret
    watch.hide(secret, in_groups, key.hex(), key.decode("latin-1").lower(), "otpauth:")
    watch.hide(base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode())
    app = App(secret, factors_site)
    watch.hide_codes(*(app.code(step) for step in range(-2, 10)))
    client.post_json("/auth/totp", {"code": NO_CODE}, headers=headers, status=422)
    client.post_json("/auth/totp", {"code": app.code()}, headers=headers, status=200)
    factors_site.site.tokens.now.move(30)
    return app


@pytest.fixture
def recovery(factors_site, owner, app, watch):
    """Return recovery codes, which are searched for."""
    headers = bearer(factors_site, owner)
    made = TestApp(factors_site).post_json("/auth/recovery-codes", {}, headers=headers).json
    codes = made["recovery_codes"]
    watch.hide(*codes, *(code.replace("-", "") for code in codes))
    return codes


NO_CODE = "canary"  # as long as one
NO_RECOVERY_CODE = "CANA-RYCA-NARY"


def enter(client, code, status):
    """Log in by the form, and enter a code."""
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    client.get("/auth/second", headers=BROWSER, status=200)
    client.post("/auth/second", {"code": code}, headers=SAME_ORIGIN, status=status)


@pytest.mark.promise(54)
def test_no_code_shows_of_a_login_or_a_confirmation(
    finds, browser, factors_site, owner, app, recovery
):
    enter(browser, NO_CODE, 401)
    enter(browser, NO_RECOVERY_CODE, 401)
    enter(browser, app.code(), 303)
    enter(browser, app.code(), 401)
    enter(browser, recovery[0], 303)
    enter(browser, recovery[0], 401)
    factors_site.site.tokens.now.move(30)
    for code, status in ((NO_CODE, 401), (app.code(), 200), (recovery[1], 200)):
        headers = bearer(factors_site, owner)
        browser.post_json("/auth/confirm", {"code": code}, headers=headers, status=status)
        browser.get("/auth/recovery-codes", headers={**BROWSER, **headers}, status="*")
    factors_site.site.tokens.now.move(30)
    for code, status in ((NO_CODE, 401), (app.code(), 200), (app.code(), 401), (recovery[2], 200)):
        browser.post_json("/auth/login", {**CREDENTIALS, "code": code}, status=status)
    for _ in range(9):
        browser.post_json("/auth/login", {**CREDENTIALS, "code": NO_CODE}, status="4*")
    browser.post_json("/auth/login", {**CREDENTIALS, "code": recovery[3]}, status=429)
    assert finds() == []


@pytest.mark.promise(54)
def test_no_secret_of_a_factor_shows_while_the_database_fails(finds, browser, app, recovery):
    browser.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    storage.current().execute_sql("ALTER TABLE wsgiauth_totp RENAME TO gone")
    for code in (app.code(), recovery[0]):
        browser.post_json("/auth/login", {**CREDENTIALS, "code": code}, status=503)
        browser.post("/auth/second", {"code": code}, headers=SAME_ORIGIN, status=503)
    assert finds() == []


@pytest.mark.promise(54)
def test_no_secret_of_a_factor_shows_in_an_exception(
    finds, browser, owner, app, recovery, watch, monkeypatch
):
    def fail(*_):
        raise LookupError("a mistake of ours")

    browser.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    monkeypatch.setattr("wsgiauth.features.factors.totp._use_of", fail)
    for code in (app.code(), recovery[0]):
        with pytest.raises(LookupError) as raised:
            browser.post("/auth/second", {"code": code}, headers=SAME_ORIGIN)
        watch.note_error("exception", raised.value)
    assert finds() == []


@pytest.mark.promise(54)
def test_no_secret_shows_in_what_is_printed_of_a_factor(
    finds, factors_site, owner, app, recovery, watch
):
    now = factors_site.site.tokens.now()
    cookie = pending.start(owner, destination="", remember=False, now=now)
    watch.hide(cookie.value)
    rows = (*Totp.select(), *OneTimeSecret.select(), *RecordedEvent.select())
    for each in (
        *rows,
        cookie,
        pending.find(cookie, now),
        factors_site,
        factors_site.site.settings,
    ):
        watch.note(type(each).__name__, each, repr(each), [each])
    for each in rows:
        watch.note(type(each).__name__, vars(each))
    assert finds() == []


@pytest.mark.promise(54)
def test_no_api_key_shows_in_a_mail(finds, browser, factors_site, owner):
    headers = bearer(factors_site, owner)
    owner.grant("a.b")
    fields = {"name": "export", "permissions": ["a.b"]}
    made = browser.post_json("/auth/keys", fields, headers=headers, status=201)
    browser.get("/", headers={"Authorization": f"Bearer {made.json['key']}"})
    assert "API key" in mailbox(factors_site)[-1]["Subject"]
    assert finds() == []


@pytest.mark.promise(54)
def test_the_database_without_the_factor_key_yields_no_code(settings, factors_site, owner, app):
    (device,) = totp.devices(owner)
    keys_of_a_thief = ("", SECRET_KEY, FALLBACK_KEY, device.salt, device.id, PASSWORD)
    yielded = {totp.base32(totp.derive_key(each, device.salt)) for each in keys_of_a_thief}
    assert totp.base32(totp.derive_key(FACTOR_KEY, device.salt)) == app.secret
    assert app.secret not in yielded | {totp.base32(bytes.fromhex(device.salt)[:20])}


SHOWN_ONCE = [
    *(each for each in SAMPLES if getattr(each, "set_up", None)),
    *(each for each in SAMPLES if getattr(each, "codes", ())),
]


@pytest.mark.promise(54)
def test_no_secret_of_a_factor_shows_in_what_is_printed_of_its_page():
    for page in SHOWN_ONCE:
        set_up = getattr(page, "set_up", None)
        secrets = page.codes if set_up is None else (set_up.key, set_up.uri)
        for secret in secrets:
            assert secret not in repr(page)
            assert secret not in repr([set_up])


# In code.


def test_no_secret_shows_in_what_is_printed_of_an_object(settings, client, site, ada, watch):
    heard = []
    AuthMiddleware(echo, settings, on_event=heard.append)
    log_in(client)
    user = User.objects.get(id=ada.id)
    change_password(user, NEW_PASSWORD, settings=settings)
    log_in_by_new_password = {"username": USERNAME, "password": NEW_PASSWORD}
    client.post_json("/auth/login", log_in_by_new_password, status=200)
    settings = replace(settings, DATABASE_URL="postgresql://ada:canary@127.0.0.1/x")
    made = Site.from_settings(settings, "/auth", FEATURES)
    attempt = made.throttle.login(UNLIKELY_NAME, ("192.0.2.7",))
    user.grant("a.b")
    new = api_keys.create(user, "export", ["a.b"], now=time.time())
    watch.note_key(new.text)
    for each in (
        *(
            new,
            new.row,
            settings,
            site,
            made,
            made.tokens,
            made.throttle,
            made.hash_slots,
            made.identifier,
        ),
        *(made.pages, attempt, ada, user, Session.get(), *heard),
    ):
        watch.note(type(each).__name__, each, repr(each), f"{each}", [each])
    for each in (ada, user, Session.get()):
        watch.note(type(each).__name__, vars(each))
    assert watch.finds() == watch.finds("finch") == []


LINKED = [each for each in (*LETTERS, *SAMPLES) if hasattr(each, "link") or hasattr(each, "token")]


def test_no_link_shows_in_what_is_printed_of_a_letter_or_a_page():
    for shown in LINKED:
        secret = shown.link if hasattr(shown, "link") else f"token={shown.token!r}"
        assert secret not in repr(shown)
        assert secret not in repr(Addressed(shown, EMAIL, None))


def test_no_secret_shows_in_the_errors_of_an_account(settings, ada, watch):
    def refused(error, action, *arguments, **options):
        with pytest.raises(error) as raised:
            action(*arguments, **options)
        watch.note_error(action.__name__, raised.value)

    names = {"username": "Grace", "email": "grace@example.org"}
    for password in ("canary", "canary\0words", "canary\ud800words", "canary" * 20):
        refused(ValidationError, create_user, **names, password=password, settings=settings)
        refused(ValidationError, change_password, ada, password, settings=settings)
    for taken in ({**names, "username": "ADA"}, {**names, "email": EMAIL}):
        refused(TakenError, create_user, **taken, password=PASSWORD, settings=settings)
    refused(ValueError, User.objects.create, **names, hashed_password=PASSWORD)
    refused(ValueError, User.objects.get, hashed_password=PASSWORD)
    refused(ValueError, User.update(hashed_password=PASSWORD).execute)
    ada.hashed_password = PASSWORD
    refused(ValueError, ada.save)
    assert watch.finds() == []


# Settings that are refused, by the middleware and on the command line.


def server_url(kind, credentials, path=""):
    """Return the URL of a test server, with other credentials."""
    url = urlsplit(SERVERS[kind])
    host = url.netloc.rpartition("@")[2]
    return url._replace(netloc=f"{credentials}@{host}", path=path or url.path).geturl()


@contextmanager
def strict_postgresql():
    """Serve what PostgreSQL says to a wrong password; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse():
            for _ in range(3):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1024)
                    connection.sendall(b"R\0\0\0\x08\0\0\0\x03")  # AuthenticationCleartextPassword
                    assert b"canary" in connection.recv(1024)
                    message = b"SFATAL\0C28P01\0Mpassword authentication failed\0\0"
                    connection.sendall(b"E" + (len(message) + 4).to_bytes(4, "big") + message)

        thread = threading.Thread(target=refuse)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


# Each is named by its own line of the error, so that each attempt has one of every setting.
BAD_SETTINGS = {
    "SECRET_KEY": [
        "canary",  # short
        "canary" * 9,  # repetitive
        "change-me-" + SECRET_KEY,
        SECRET_KEY + "\udcff",
    ],
    "SECRET_KEY_FALLBACKS": [
        "a-canary",
        f"{FALLBACK_KEY} canary",
        "canary" * 10,
        "change-me-" + FALLBACK_KEY,
        FALLBACK_KEY + "\udcff",
    ],
    "FACTOR_KEY": ["the-canary", "canary" * 11, FACTOR_KEY + "\udcff"],
    "JWT_ALGORITHM": ["none"],
    "BCRYPT_ROUNDS": ["canary"],
    "TRUSTED_ORIGINS": ["https://ada:canary@example.org"],
    "REGISTRATION": ["canary"],
}
BAD_URLS = [
    "canary",
    "oracle://ada:canary@127.0.0.1/x",
    "mysql+tea://ada:canary@127.0.0.1/x",
    "mysql://ada:canary@[::1/x",
    "postgresql://ada:canary@127.0.0.1:port/x",
    "postgresql://ada:canary/@127.0.0.1/x",
    "postgresql://ada:canary%00@127.0.0.1/x",
    "postgresql://ada:canary\udcff@127.0.0.1/x",
    "mysql://ada:canary\udcff@127.0.0.1/x",
    "postgresql://ada:canary@127.0.0.1",
    "postgresql://ada:canary@127.0.0.1/x?tea=1",
    "mysql://ada:canary@127.0.0.1/x?tea=1",
    "sqlite://ada:canary@/x.db",
]
BAD_ALONE = [
    *({"DATABASE_URL": each} for each in BAD_URLS),
    pytest.param(
        {"SECRET_KEY": f"-----BEGIN PUBLIC KEY-----\n{SECRET_KEY}\n-----END PUBLIC KEY-----"},
        id="public key",
    ),
    pytest.param(
        {"SECRET_KEY_FALLBACKS": f'{{"kty":"oct","k":"{FALLBACK_KEY}"}}'}, id="fallback, a JWK"
    ),
    pytest.param({"SECRET_KEY": SECRET_KEY[:-8], "JWT_ALGORITHM": "HS512"}, id="key for HS256"),
    pytest.param(
        {
            "SECRET_KEY_FALLBACKS": FALLBACK_KEY[:-8],
            "SECRET_KEY": SECRET_KEY,
            "JWT_ALGORITHM": "HS512",
        },
        id="fallback for HS256",
    ),
    pytest.param({"FACTOR_KEY_FALLBACKS": FACTOR_KEY}, id="former factor key alone"),
    pytest.param(
        {"FACTOR_KEY": FALLBACK_KEY, "FACTOR_KEY_FALLBACKS": f"{FACTOR_KEY} canary"},
        id="short former factor key",
    ),
    pytest.param({"DATABASE_URL": "postgresql://ada:canary@127.0.0.1:1/x"}, id="nobody listens"),
    pytest.param({"DATABASE_URL": "mysql://ada:canary@127.0.0.1:1/x"}, id="nobody there, MariaDB"),
    pytest.param({"DATABASE_URL": "mysql://ada@127.0.0.1:1/x?passwd=canary"}, id="in the query"),
    pytest.param({"DATABASE_URL": server_url("postgresql", "nobody:canary")}, id="no such role"),
    pytest.param(
        {"DATABASE_URL": server_url("postgresql", "postgres:canary", "/x")}, id="no database"
    ),
    pytest.param({"DATABASE_URL": server_url("mariadb", "root:canary")}, id="password, MariaDB"),
    pytest.param(
        {"DATABASE_URL": server_url("mariadb", "root:canary").replace("mysql", "mysql+pool")},
        id="password, MariaDB with a pool",
    ),
]


@pytest.fixture
def run(monkeypatch, watch):
    """Return a function that runs a command with given settings in the process environment."""

    def run_command(*argv, stdin="", **environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        return main(argv)

    return run_command


def start(wrong, run, watch):
    """Start with wrong settings, in each way that there is; return how it is refused."""
    settings = {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "4"} | wrong
    with pytest.raises(ConfigurationError) as refused:
        AuthMiddleware(echo, settings)
    watch.note_error("refusal", refused.value)
    assert run("check", **settings) == 1
    if "DATABASE_URL" in wrong:
        assert run("users", "--database", wrong["DATABASE_URL"]) == 1
    return refused.value


ATTEMPTS = [
    {name: values[number] for name, values in BAD_SETTINGS.items() if number < len(values)}
    for number in range(max(map(len, BAD_SETTINGS.values())))
]


@pytest.mark.parametrize("wrong", ATTEMPTS)
def test_no_secret_shows_when_several_settings_are_refused(
    run, watch, monkeypatch, tmp_path, wrong
):
    monkeypatch.chdir(tmp_path)
    problems = start(wrong, run, watch).problems
    assert {each.partition(" ")[0] for each in problems} == wrong.keys()
    assert watch.finds() == []


@pytest.mark.parametrize("wrong", BAD_ALONE)
def test_no_secret_shows_when_settings_are_refused(run, watch, monkeypatch, tmp_path, wrong):
    monkeypatch.chdir(tmp_path)
    start(wrong, run, watch)
    assert watch.finds() == []


def test_a_password_that_the_database_refuses_is_not_shown(run, watch):
    with strict_postgresql() as port:
        url = f"postgresql://ada:canary@127.0.0.1:{port}/x?sslmode=disable&gssencmode=disable"
        start({"DATABASE_URL": url}, run, watch)
    assert watch.finds() == []


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        pytest.param("postgresql", {"password": "canary", "port": 1}, id="gone, PostgreSQL"),
        pytest.param("mariadb", {"password": b"canary", "port": 1}, id="gone, MariaDB"),
        pytest.param("mariadb", {"password": b"canary"}, id="password changed, MariaDB"),
    ],
)
def test_a_server_that_does_not_let_us_in_any_more_shows_no_password(
    server_urls, watch, kind, changed
):
    url = server_urls(kind)
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    client = Client(AuthMiddleware(echo, settings), watch)
    opened = storage.current()
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    headers = log_in(client)
    empty_tables()
    storage.discard_connection(opened)
    opened.connect_params |= changed
    for path in ("/", "/auth/me"):
        client.get(path, headers=headers, status=503)
    client.post_json("/auth/login", CREDENTIALS, status=503)
    assert watch.finds() == []


# The command line.


def test_no_secret_shows_on_the_command_line(settings, site, run, watch):
    environ = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": settings.DATABASE_URL}
    names = ("--username", "Ada", "--email", EMAIL, "--password-stdin")
    for stdin in ("canary\n", "canary\0\n", PASSWORD, NEW_PASSWORD):
        run("createuser", *names, stdin=stdin, BCRYPT_ROUNDS="4", **environ)
    for stdin in ("canary", NEW_PASSWORD):
        run("changepassword", "ada", "--password-stdin", stdin=stdin)
    run("changepassword", "nobody", "--password-stdin", stdin=NEW_PASSWORD)
    client = Client(site, watch)
    client.post_json("/auth/login", {"username": "ada", "password": NEW_PASSWORD}, status=200)
    run("grant", "ada", "a.b")
    run("makekey", "ada", "--name", "export", "--permission", "a.b")
    watch.allow_key()
    run("keys", "ada")
    run("keys", "ada", "--json")
    run("users")
    run("users", "--json")
    run("sessions", "ada")
    run("events")
    run("events", "ada", "--json")
    run("logout", "ada")
    run("deactivate", "ada")
    run("purge")
    run("migrate")
    run("check")
    assert watch.finds() == []


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["--database", "mysql://ada:canary@127.0.0.1/x", "users"], id="too early"),
        pytest.param(["users", "--databse", "mysql://ada:canary@127.0.0.1/x"], id="misspelt"),
        pytest.param(["purge", "mysql://ada:canary@127.0.0.1/x"], id="bare"),
    ],
)
def test_wrong_usage_shows_no_password_of_the_database(run, watch, argv):
    with pytest.raises(SystemExit):
        run(*argv)
    assert watch.finds() == []


def test_a_database_that_fails_a_command_shows_no_secret(settings, site, run, watch):
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    storage.current().execute_sql(
        "CREATE TRIGGER fail AFTER UPDATE ON wsgiauth_user BEGIN DELETE FROM missing; END"
    )
    environ = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": settings.DATABASE_URL}
    argv = ("changepassword", "ada", "--password-stdin")
    assert run(*argv, stdin=NEW_PASSWORD, BCRYPT_ROUNDS="4", **environ) == 1
    assert watch.finds() == []


# The search.


def log_an_exception(watch):
    try:
        try:
            raise KeyError("canary")
        except KeyError:
            raise LookupError from None
    except LookupError:
        logging.getLogger("any").exception("failed")


def answer_with(watch, headers=(), body=b""):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain"), *headers])
        return [body]

    Client(app, watch).get("/")


def repeat_a_token(watch):
    def app(environ, start_response):
        body = b'{"access_token": "head.claims.Signature", "next": "?Signature"}'
        start_response("200 OK", [("Content-Type", "application/json")])
        return [body]

    Client(app, watch).post("/auth/login")


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lambda watch: logging.debug("CANARY"), id="message"),
        pytest.param(lambda watch: logging.getLogger("any").info("%s", [PASSWORD]), id="argument"),
        pytest.param(lambda watch: logging.info("x", extra={"cookie": "canary"}), id="extra"),
        pytest.param(log_an_exception, id="suppressed exception"),
        pytest.param(
            lambda watch: watch.note_error("x", ValidationError({"password": ["canary"]})),
            id="exception",
        ),
        pytest.param(lambda watch: answer_with(watch, [("X-Key", "a canary")]), id="header"),
        pytest.param(lambda watch: answer_with(watch, body=b"a canary"), id="body"),
        pytest.param(repeat_a_token, id="token where it does not belong"),
        pytest.param(lambda watch: print("canary", file=sys.stderr), id="stderr"),
        pytest.param(lambda watch: print("canary"), id="stdout"),
    ],
)
def test_the_search_finds_what_is_planted(watch, plant):
    assert watch.finds() == []
    plant(watch)
    assert watch.finds()


def test_the_search_finds_what_is_stored(client, watch):
    User.update(email_key="canary").execute()
    assert any(each.startswith("accounts.db") for each in watch.finds())


def test_the_search_finds_what_is_in_the_trail(client, watch):
    RecordedEvent.update(reason="canary").execute()
    assert any(each.startswith("accounts.db") for each in watch.finds())
