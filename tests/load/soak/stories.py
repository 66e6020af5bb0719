"""What people, programs, members of the staff and strangers do: each method is a story.

Each client has users of its own, so that it knows what every answer must be.
"""

import base64
import json
import re
import secrets
import time
from html import unescape
from itertools import cycle
from urllib.parse import parse_qs, urlencode, urlsplit

import pyotp

from tests.load.soak.clients import Client, UnexpectedError
from tests.load.soak.mails import CODE, TOKEN
from tests.support.authenticators import Authenticator
from tests.support.oauth_apps import CALLBACK, DEVICE_GRANT, challenge_of
from tests.support.service_keys import REPORTS
from tests.support.sites import BROWSER, EMAIL, PASSWORD

NEW_PASSWORD = "four further unrelated words"
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
PANEL = "/auth/admin"
HIDDEN = re.compile(r'<input type="hidden" name="(account|login)" value="([^"]*)"')
CONSENT = re.compile(r'action="(/auth/[^"]*)"|name="(account|scope)" value="([^"]*)"')
OPTIONS = re.compile(r'data-options="([^"]*)"')


class Visitor(Client):
    """A client that has stories.

    Attributes:
        story: The name of the last one.

    Args:
        world: `people`, `postbox`, `provider`, and the number of `clients`.
    """

    def __init__(self, world, seed, *arguments):
        super().__init__(*arguments, seed)
        self.world, self.story = world, ""
        mine = slice(seed, None, world.clients)
        self.regulars = world.people.regulars[mine]
        # In turn: a code of an app can be used once.
        self._special = {kind: cycle(names[mine]) for kind, names in world.people.special.items()}

    def visit(self):
        """Do one thing after the other, as often as it occurs."""
        (self.story,) = self.random.choices([*STORIES], [*STORIES.values()])
        self.begin()
        getattr(self, self.story)()

    # Logins

    def program(self):
        token = self.log_in(self.regular())
        for path in ("/", "/auth/me", "/"):
            self.get(path, token)
        self.get("/", f"{token}x", status=401)
        if self.random.random() < 0.5:  # other sessions expire
            self.post("/auth/logout", {}, token)
            self.get("/", token, status=401)

    def browser(self):
        self.get("/auth/login", **BROWSER)
        remember = self.random.choice([{}, {"remember": "on"}])
        form = {"username": self.regular(), "password": PASSWORD, "next": "/", **remember}
        self.submit("/auth/login", form)
        for path in ("/", "/auth/account", "/auth/sessions", "/auth/password"):
            self.get(path, **BROWSER)
        self.submit("/auth/language", {"language": "de"})
        self.get("/auth/account", **BROWSER)
        if self.random.random() < 0.5:
            self.submit("/auth/logout", {})
            self.get("/", status=401)

    def refreshes(self):
        pair = self.log_in_for_pair(self.regular())
        for _ in range(2):
            body = {"refresh_token": pair["refresh_token"]}
            pair = self.post("/auth/refresh", body).document
            self.get("/", pair["access_token"])
        self.post("/auth/refresh", {"refresh_token": "x"}, status=401)
        self.post("/auth/logout", {}, pair["access_token"])

    def sessions(self):
        name = self.regular()
        other, token = self.log_in(name), self.log_in(name)
        listed = self.get("/auth/sessions", token).document["sessions"]
        handle = next(each["handle"] for each in listed if not each["is_current"])
        self.post("/auth/sessions", {"end": handle}, token)
        self.post("/auth/sessions", {"end": "others"}, token)
        self.get("/", other, status=401)
        self.post("/auth/confirm", {"password": PASSWORD}, token)

    def api_key(self):
        name = next(self._special["key"])
        key = self.world.people.keys[name]
        self.get("/", key)
        text = key.removeprefix("Bearer ")
        basic = base64.b64encode(f"{name}:{text}".encode()).decode()
        self.get("/", f"Basic {basic}")
        self.get("/", f"Basic {basic[:-8]}AAAAAAA=", status=401)
        token = self.log_in(name)
        made = self.post("/auth/keys", {"name": "soak", "permissions": []}, token, status=201)
        self.get("/", made.document["key"])
        self.get("/auth/keys", token)
        self.post("/auth/keys", {"end": made.document["id"]}, token)
        self.get("/", made.document["key"], status=401)

    def code_in_email(self):
        name = next(self._special["proven"])
        body = {"username": name}
        request = self.post("/auth/code", body, status=202).document["request"]
        self.post("/auth/code/enter", {"request": request, "code": "0000 0000"}, status=401)
        code = self.world.postbox.take(f"{name}@example.org", CODE)
        entered = self.post("/auth/code/enter", {"request": request, "code": code})
        self.get("/", entered.document["access_token"])

    def code_in_browser(self):
        name = next(self._special["proven"])
        self.get("/auth/code", **BROWSER)
        self.submit("/auth/code", {"username": name})
        self.get("/auth/code/enter", **BROWSER)
        code = self.world.postbox.take(f"{name}@example.org", CODE)
        self.submit("/auth/code/enter", {"code": code})
        self.get("/", **BROWSER)

    def second_factor(self):
        name = next(self._special["app"])
        form = {"username": name, "password": PASSWORD}
        self.post("/auth/login", form, status=401)
        self.submit("/auth/login", form)
        hidden = dict(HIDDEN.findall(self.get("/auth/second", **BROWSER).body.decode()))
        self.submit("/auth/second", {**hidden, "code": "x"}, status=401)
        self.submit("/auth/second", {**hidden, "code": self.code_of(name), "trust": "on"})
        self.get("/", **BROWSER)
        self.submit("/auth/logout", {})
        self.submit("/auth/login", form)  # trusted
        trusted = self.get("/auth/sessions", **SCRIPT).document["trusted_browsers"]
        if self.random.random() < 0.5:
            for each in trusted:
                body = json.dumps({"end": each["handle"]})
                headers = SCRIPT | {"Content-Type": "application/json"}
                self.send("POST", "/auth/sessions", body, headers, status=200)

    def second_factor_of_program(self):
        name = next(self._special["app"])
        self.get("/", self.log_in(name, code=self.code_of(name)))

    def passkey(self):
        key = self.world.people.authenticators[next(self._special["passkey"])]
        page = self.get("/auth/login", **BROWSER)
        options = options_of(page)
        self.submit("/auth/login", {"credential": key.get(options)}, status=200, **SCRIPT)
        self.get("/", **BROWSER)
        self.submit("/auth/logout", {})

    def provider(self):
        name = next(self._special["provided"])
        provider = self.world.provider
        begun = self.submit("/auth/oidc/google", {"next": "/"})
        query = provider.authorize(begun.headers["Location"], name)
        self.get(f"/auth/oidc/google/callback?{query}", status=303, **BROWSER)
        self.get("/", **BROWSER)
        self.get("/auth/identities", **BROWSER)
        if self.random.random() < 0.5:
            body = urlencode({"logout_token": provider.logout_token(name)})
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            self.send("POST", "/auth/oidc/google/logout", body, headers, status=200)
            self.get("/", status=401)

    # Apps

    def own_app(self):
        self.log_in_browser()
        tokens = self.tokens_of("own", self.authorize("own", "openid profile"))
        self.get("/auth/userinfo", tokens["access_token"])
        tokens = self.refresh("own", tokens)
        if self.random.random() < 0.5:
            self.as_program("own", "revoke", {"token": tokens["refresh_token"]})
        if self.random.random() < 0.5:
            self.submit("/auth/logout", {})
        else:
            hint = urlencode({"id_token_hint": tokens["id_token"]})
            self.get(f"/auth/oauth/logout?{hint}", status=303, **BROWSER)
        self.get("/", status=401)
        self.refresh("own", tokens, status=400)

    def other_app(self):
        self.log_in_browser()
        page = self.authorize("other", "openid profile offline_access")
        self.refresh("other", self.tokens_of("other", self.answer(page, "allow")))
        self.get("/auth/apps", **BROWSER)
        self.revoke("other")
        self.answer(self.authorize("other", "openid"), "refuse")

    def device(self):
        asked = self.as_program("own", "device", {"scope": "openid profile"}).document
        poll = {"grant_type": DEVICE_GRANT, "device_code": asked["device_code"]}
        self.as_program("own", "token", poll, status=400)
        self.log_in_browser()
        typed = f"/auth/device?user_code={asked['user_code']}"
        form = self.form_in(self.get(typed, **BROWSER)) | {"user_code": asked["user_code"]}
        form |= self.form_in(self.submit("/auth/device", form, status=200, **BROWSER))
        self.submit("/auth/device", {**form, "decision": "allow"}, **BROWSER)
        tokens = self.as_program("own", "token", poll).document
        self.get("/auth/userinfo", tokens["access_token"])
        self.revoke("own")
        self.get("/auth/userinfo", tokens["access_token"], status=401)

    def client_credentials(self):
        fields = {"grant_type": "client_credentials"}
        issued = self.as_program("program", "token", fields).document["access_token"]
        key = self.world.people.keys[next(self._special["key"])]
        said = self.post("/auth/introspect", {"token": issued}, key).document
        assert said["active"], said

    def registration(self):
        app = {"redirect_uris": [CALLBACK], "client_name": "soak"}
        self.post("/auth/oauth/register", app, status=(201, 400))
        self.get("/.well-known/openid-configuration")

    # Strangers

    def failures(self):
        stranger = f"stranger{self.random.randrange(99)}"
        name = self.random.choice([stranger, next(self._special["victim"])])
        for _ in range(3):
            self.post("/auth/login", {"username": name, "password": "x"}, status=(401, 429))
        self.submit("/auth/login", {"username": name, "password": "x"}, status=(401, 429))

    def pages(self):
        for page in ("login", "register", "forgot", "openapi.json", "jwks.json"):
            self.get(f"/auth/{page}", **BROWSER)
        self.get("/auth/nowhere", status=404)
        self.get("/", status=401)
        self.get("/auth/account", status=302, **BROWSER)

    def nonsense(self):
        headers = {"Content-Type": "application/json"}
        for body, status in (("{", 400), ("[]", 400), ("{}", 422), (" " * 20_000, 413)):
            self.send("POST", "/auth/login", body, headers, status=status)
        self.send("POST", "/auth/login", "x", {"Content-Type": "text/plain"}, status=415)
        self.send("PUT", "/auth/login", "{}", headers, status=405)
        self.get("/auth/verify?token=x", status=410)
        self.get("/auth/oidc/google/callback?state=x", status=400)
        taken = {"username": "person1", "email": "x@example.org", "password": PASSWORD}
        self.post("/auth/register", taken, status=409)
        self.post("/auth/register", taken | {"username": "@"}, status=422)

    def foreign_form(self):
        form = {"username": self.regular(), "password": PASSWORD}
        self.submit("/auth/login", form, status=403, **{"Sec-Fetch-Site": "cross-site"})

    # Accounts

    def forgotten(self):
        name = next(self._special["proven"])
        self.post("/auth/forgot", {"username": name}, status=202)
        token = self.world.postbox.take(f"{name}@example.org", TOKEN)
        self.get(f"/auth/reset?token={token}", **BROWSER)
        self.post("/auth/reset", {"token": token, "password": PASSWORD})
        self.get(f"/auth/reset?token={token}", status=410, **BROWSER)
        self.log_in(name)

    def life(self):
        """Register, set up everything, use it, and close the account."""
        name = f"new{self.seed}-{next(self.numbers)}"
        address = f"{name}@example.org"
        account = {"username": name, "email": address, "password": PASSWORD}
        self.post("/auth/register", account, status=201)
        token = self.log_in(name)
        link = self.world.postbox.take(address, TOKEN)
        self.post("/auth/verify", {"token": link}, token)
        name = f"re{name}"
        self.post("/auth/username", {"username": name}, token)
        secret = self.post("/auth/totp", {"name": "Phone"}, token, status=201).document["secret"]
        code = pyotp.TOTP(secret).now()
        token = self.renewed(self.post("/auth/totp", {"code": code}, token), token)
        made = self.post("/auth/recovery-codes", {}, token, status=201)
        recovery_code = made.document["recovery_codes"][0]
        token = self.log_in(name, code=recovery_code)
        options = self.get("/auth/passkeys", token).document["creation_options"]
        passkey = {"name": "Laptop", "credential": Authenticator().create(json.dumps(options))}
        added = self.post("/auth/passkeys", passkey, token, status=201)
        token = self.renewed(added, token)
        address = f"{name}@example.net"
        self.post("/auth/email", {"email": address}, token, status=202)
        link = self.world.postbox.take(address, TOKEN)
        token = self.renewed(self.post("/auth/verify", {"token": link}, token), token)
        change = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
        token = self.renewed(self.post("/auth/password", change, token), token)
        self.get("/auth/data", token)
        self.post("/auth/close", {}, token)
        self.get("/", token, status=401)

    # Staff

    def panel(self):
        token = self.log_in(next(self._special["boss"]))
        name = self.regular()
        found = self.get(f"{PANEL}/users?q={name}.{EMAIL}", token).document["users"]
        path = f"{PANEL}/users/{next(each['id'] for each in found if each['username'] == name)}"
        for page in (f"{PANEL}/users?sort=-last_login", f"{PANEL}/users?q=9&active=yes", path):
            self.get(page, token, **BROWSER)
        his = self.log_in(name)
        self.post(f"{path}/deactivate", {}, token)
        self.get("/", his, status=401)
        self.post("/auth/login", {"username": name, "password": PASSWORD}, status=401)
        self.post(f"{path}/activate", {}, token)
        self.post(f"{path}/grant", {"permission": "soak.read"}, token)
        self.post(f"{path}/revoke", {"permission": "soak.read"}, token)
        self.get(f"{PANEL}/users.csv?q=person12", token)
        self.get(f"{PANEL}/events?user={name}", token)

    def trail(self):
        token = self.log_in(next(self._special["boss"]))
        for query in ("", "?name=login", "?actor=command+line", f"?user={self.regular()}"):
            page = self.get(f"{PANEL}/events{query}", token).document
        self.get(f"{PANEL}/events?name=logout", token, **BROWSER)
        assert "events" in page

    def invitation(self):
        token = self.log_in(next(self._special["boss"]))
        group = f"group{self.seed}-{next(self.numbers)}"
        made = self.post(f"{PANEL}/groups", {"name": group}, token, status=201).document
        name = f"guest{self.seed}-{next(self.numbers)}"
        address = f"{name}@example.org"
        body = {"email": address, "groups": [group]}
        self.post(f"{PANEL}/invite", body, token, status=202)
        self.get(f"{PANEL}/invitations", token)
        link = self.world.postbox.take(address, TOKEN)
        self.get(f"/auth/verify?token={link}", **BROWSER)
        account = {"token": link, "username": name, "password": PASSWORD}
        guest = self.post("/auth/verify", account, status=201).document["id"]
        self.get("/", self.log_in(name))
        self.get(f"{PANEL}/groups/{made['id']}", token, **BROWSER)
        self.post(f"{PANEL}/groups/{made['id']}/delete", {}, token)
        self.post(f"{PANEL}/users/{guest}/delete", {}, token)

    # Proxies and services

    def proxy(self):
        token = self.log_in(self.regular())
        forwarded = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/page"}
        for _ in range(3):
            self.get("/auth/check", token, status=204, **forwarded)
        self.get("/auth/check?permission=soak.read", token, status=403, **forwarded)
        self.get("/auth/check", status=302, **forwarded, **BROWSER)

    def services(self):
        token = self.log_in(self.regular())
        issued = self.post("/auth/token", {"audience": REPORTS}, token).document["access_token"]
        key = self.world.people.keys[next(self._special["key"])]
        for each, is_active in ((token, True), (issued, True), ("x", False)):
            said = self.post("/auth/introspect", {"token": each}, key).document
            if said["active"] is not is_active:
                raise UnexpectedError(f"introspection says {said}")

    # How they do it

    def log_in_browser(self):
        self.submit("/auth/login", {"username": self.regular(), "password": PASSWORD, "next": "/"})

    def authorize(self, app, scope):
        """Return the answer to a browser that an app sends."""
        self.verifier = secrets.token_urlsafe(32)
        query = {
            "response_type": "code",
            "client_id": self.world.people.clients[app][0],
            "redirect_uri": CALLBACK,
            "scope": scope,
            "state": "state",
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
        }
        answer = self.get(f"/auth/authorize?{urlencode(query)}", status=303, **BROWSER)
        if answer.headers["Location"].startswith(CALLBACK):
            return answer
        return self.get(answer.headers["Location"], **BROWSER)

    def answer(self, page, decision):
        """Answer a page of consent; return the redirect to the app."""
        action = unescape(next(each[0] for each in CONSENT.findall(page.body.decode()) if each[0]))
        return self.submit(action, {**self.form_in(page), "decision": decision})

    def form_in(self, page):
        """Return the hidden fields of a form about an app."""
        found = CONSENT.findall(page.body.decode())
        return {name: unescape(value) for _, name, value in found if name}

    def tokens_of(self, app, redirect):
        """Return the tokens for the code in a redirect to an app."""
        (code,) = parse_qs(urlsplit(redirect.headers["Location"]).query)["code"]
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
        return self.as_program(app, "token", {**fields, "code_verifier": self.verifier}).document

    def refresh(self, app, tokens, *, status=200):
        fields = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        return self.as_program(app, "token", fields, status=status).document

    def revoke(self, app):
        """End what a user has allowed an app, in a script of a page."""
        body = json.dumps({"revoke": self.world.people.clients[app][0]})
        headers = SCRIPT | {"Content-Type": "application/json"}
        self.send("POST", "/auth/apps", body, headers, status=200)

    def as_program(self, app, path, fields, *, status=200):
        """Send a request of the program of an app, which is no browser."""
        credentials = base64.b64encode(":".join(self.world.people.clients[app]).encode()).decode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        headers["Authorization"] = f"Basic {credentials}"
        cookies, self.cookies = self.cookies, {}
        try:
            path = f"/auth/oauth/{path}"
            return self.send("POST", path, urlencode(fields), headers, status=status)
        finally:
            self.cookies = cookies

    def regular(self):
        return self.random.choice(self.regulars)

    def log_in(self, name, **further):
        """Log in as a program; return the token."""
        body = {"username": name, "password": PASSWORD, **further}
        return self.post("/auth/login", body).document["access_token"]

    def log_in_for_pair(self, name):
        body = {"username": name, "password": PASSWORD, "refresh": True}
        return self.post("/auth/login", body).document

    def code_of(self, name):
        return pyotp.TOTP(self.world.people.apps[name].secret).at(int(time.time()))

    @staticmethod
    def renewed(answer, token):
        """Return the token that an answer brings instead, or the old one."""
        login = answer.document.get("login", answer.document)
        return login.get("access_token", token)


def options_of(page):
    """Return what a page gives to a passkey."""
    return unescape(OPTIONS.search(page.body.decode())[1])


# How often each occurs.
STORIES = {
    "program": 10,
    "browser": 8,
    "refreshes": 4,
    "sessions": 2,
    "api_key": 3,
    "code_in_email": 2,
    "code_in_browser": 1,
    "second_factor": 2,
    "second_factor_of_program": 1,
    "passkey": 2,
    "provider": 2,
    "failures": 3,
    "pages": 4,
    "nonsense": 1,
    "foreign_form": 1,
    "forgotten": 2,
    "life": 1,
    "panel": 1,
    "trail": 1,
    "invitation": 1,
    "own_app": 3,
    "other_app": 2,
    "device": 1,
    "client_credentials": 2,
    "registration": 1,
    "proxy": 3,
    "services": 2,
}
