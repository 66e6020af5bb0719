"""Requests that no client should send, and what must be true of every answer to them.

Shared by the tests and by `make measure NAME=fuzz`. WSGI's texts are bytes, disguised as Latin-1
(PEP 3333), and so are all texts here, the body's as well.
"""

import base64
import hashlib
import hmac
import io
import json
import re
import time
import warnings
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, urlencode
from wsgiref.validate import WSGIWarning, validator

from webob import Response
from webob.dec import wsgify

from tests.support.factors import FACTOR_KEY
from tests.support.mails import MAIL
from tests.support.service_keys import REPORTS, write_key
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from tests.web.pages import EXAMPLES, REQUEST
from wsgiauth import AuthMiddleware, Settings, login_required, permission_required, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.app import ROUTES
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.features.oauth_server.hints import MAX_FORM
from wsgiauth.storage import context
from wsgiauth.testing import mailbox
from wsgiauth.web.pages import Pages
from wsgiauth.web.request import MAX_BODY

PROVIDER = "github.com"  # which is never asked: no request of ours is the end of a login there
SETTINGS = Settings.from_mapping(
    {
        "SECRET_KEY": SECRET_KEY,
        "BCRYPT_ROUNDS": 4,
        "DATABASE_URL": "sqlite:///:memory:",
        "LOGIN_FAILURES_PER_ACCOUNT": 0,
        "LOGIN_FAILURES_PER_ADDRESS": 0,
        "LOGINS_PER_ACCOUNT": 0,
        "REGISTRATIONS_PER_ADDRESS": 0,
        "HASHING_PER_ADDRESS": 0,
        "MAILS_PER_ACCOUNT": 0,
        "MAILS_PER_ADDRESS": 0,
        "PASSKEYS": True,
        "FACTOR_KEY": FACTOR_KEY,
        "LOGIN_CODES": True,
        "TRUSTED_BROWSER_DAYS": 30,
        "FORWARD_AUTH": True,
        "BASIC_AUTH": "keys",
        "OIDC_PROVIDERS": f"github+github:https://id:secret@{PROVIDER}",
        **MAIL,
        "PUBLIC_URL": "http://localhost",
    }
)
SESSION = "a-login-that-stands"
LATER = 4_102_444_800  # in the year 2100
TOKEN = Tokens(SETTINGS).issue(1, SESSION, LATER)  # the same in every run, as examples must be

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Request:
    """What a server hands over; its repr can be pasted into a test.

    Attributes:
        environ: What depends on the client; `Site` adds the rest. None takes a variable away.
        body: What the client sends.
        step: How many bytes arrive at a time.
        breaks: Whether the client goes away at the end.
    """

    environ: dict[str, str | None]
    body: bytes = b""
    step: int = MAX_BODY
    breaks: bool = False

    def has_credential(self):
        """Return whether the one valid token is presented where it counts."""
        bearer = self.environ.get("HTTP_AUTHORIZATION", "")
        if re.fullmatch(rf"[ \t]*(?i:bearer)[ \t]+{TOKEN}[ \t]*", bearer):
            return True
        secure = self.environ.get("wsgi.url_scheme") == "https"
        name = "__Host-wsgiauth" if secure else "wsgiauth"
        pairs = re.findall(r"([^;=]*)=([^;]*)", self.environ.get("HTTP_COOKIE", ""))
        ours = [value.strip(' \t"') for found, value in pairs if found.strip(" \t") == name]
        return set(ours) == {TOKEN}  # two equal values count as one


@dataclass(frozen=True)
class Answer:
    """What comes back; a header stands there once for each time it was sent."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes
    status: int = field(init=False)
    kind: str = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "status", int(self.line[:3]))
        object.__setattr__(self, "kind", dict(self.headers).get("Content-Type", ""))

    @property
    def code(self):
        """Return the `code` of a problem, or an empty text."""
        return json.loads(self.body)["code"] if self.kind == PROBLEM and self.body else ""


PROBLEM = "application/problem+json"


class Client(io.RawIOBase):
    """A body as the server passes it on: in pieces, perhaps broken off, and bounded by nothing.

    A real server waits where more is asked for than was announced; here that is an error.
    """

    def __init__(self, request):
        self._body = io.BytesIO(request.body)
        self._request = request
        length = request.environ.get("CONTENT_LENGTH") or ""
        if length == "" and request.environ.get("wsgi.input_terminated"):
            self._left = MAX_FORM + 1
        else:
            self._left = int(length) if re.fullmatch("[0-9]{1,9}", length) else 0

    def read(self, size):
        assert 0 < size <= self._left, "this would wait for what never comes"
        part = self._body.read(min(size, self._request.step))
        self._left -= len(part)
        if not part and self._request.breaks:
            raise OSError("the client has gone")
        return part


def schema_of(operation):
    """Return the schema of the body of an operation."""
    (content,) = operation["requestBody"]["content"].values()
    return content["schema"]


MEMBERS = "None but members read this,"


@login_required(redirect_url="/auth/login")
@wsgify
def members(request):
    # A text would be encoded as the request's Content-Type says, whatever that is.
    return Response(f"{MEMBERS} {request.user.username}")


VIEWS = {
    "/members": members,
    "/reports": login_required(echo),
    "/publish": permission_required("reports.publish", redirect_url="/auth/login")(echo),
}


def views(environ, start_response):
    """Answer by the path, or else by `echo`; to PEP 3333's letter if the request is."""
    view = VIEWS.get(environ.get("PATH_INFO", ""), echo)
    return (validator(view) if is_legal(environ) else view)(environ, start_response)


def is_legal(environ):
    """Return whether PEP 3333 allows what the client's part of `environ` says."""
    script, path = environ.get("SCRIPT_NAME"), environ.get("PATH_INFO")
    return (
        None not in (script, path)  # it does, but the validator trips over it
        and script + path != ""
        and script != "/"
        and all(part.startswith("/") for part in (script, path) if part)
        and re.fullmatch("[0-9]{0,9}", environ.get("CONTENT_LENGTH", "")) is not None
    )


class Site:
    """An application with a user, Ada, of the staff, who is logged in by `TOKEN`."""

    def __init__(self):
        self._folder = TemporaryDirectory()
        keys = write_key(Path(self._folder.name) / "key.pem")
        provider = {"OAUTH_SERVER": True, "OAUTH_REGISTRATION": True}
        settings = replace(SETTINGS, SERVICE_KEYS=str(keys), SERVICES=(REPORTS,), **provider)
        self._app = AuthMiddleware(views, settings, send_mail=lambda message: None)
        mailbox(self._app)  # so that no thread sends
        self._database = storage.current()
        create_user(USERNAME, EMAIL, PASSWORD, settings=SETTINGS, is_staff=True)
        self._ada = User.select().dicts().get()

    def close(self):
        """Give the database and the files up."""
        storage.discard_connection(self._database)
        self._folder.cleanup()

    def answer(self, request):
        """Return the answer to `request`."""
        if TOKEN in "".join(map(str, request.environ.values())):
            with context.using(self._database):
                self._restore_ada()
        environ = {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": Client(request),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
            **request.environ,
        }
        environ = {name: value for name, value in environ.items() if value is not None}
        app = validator(self._app) if is_legal(environ) else self._app
        started = []
        with warnings.catch_warnings(action="ignore", category=WSGIWarning):  # of odd methods
            app_iter = app(environ, lambda *arguments: started.append(arguments))
            body = b"".join(app_iter)
            getattr(app_iter, "close", lambda: None)()
        ((line, headers),) = started
        return Answer(line, headers, body)

    def _restore_ada(self):
        """Make Ada what she was, and log her in: an earlier request may have changed her."""
        User.replace(self._ada).execute()  # which also deletes what is hers
        User.get_by_id(self._ada["id"]).grant("wsgiauth.manage_users")
        now = int(time.time())
        Session.insert(
            id=SESSION, user=self._ada["id"], stamp=0, expires_at=LATER, authenticated_at=now
        ).execute()

    def check(self, request, answer):
        """Assert everything that is true of every answer."""
        is_http(request, answer)
        is_readable(answer)
        leads_here(answer)
        shows_text_only(answer)
        knows_nobody_else(request, answer)


def is_http(request, answer):
    """Assert that an answer is no failure of ours and can be sent (RFC 9112)."""
    assert answer.status < 500
    assert re.fullmatch(r"[2-4][0-9]{2} [ -~]+", answer.line)
    for name, value in answer.headers:
        assert re.fullmatch(r"[A-Za-z-]+", name)
        assert re.fullmatch(r"[ -~]*", value)
    length = dict(answer.headers).get("Content-Length")
    is_head = request.environ.get("REQUEST_METHOD") == "HEAD"
    assert is_head or length is None or int(length) == len(answer.body)


def is_readable(answer):
    """Assert that JSON is JSON, and that a problem says what it is."""
    if not answer.body:
        return
    if answer.kind in (JSON, PROBLEM):
        document = json.loads(answer.body)
        assert isinstance(document, dict)
        if answer.kind == PROBLEM:
            assert document["status"] == answer.status
            assert re.fullmatch("[a-z_]+", document["code"])
    elif answer.kind.startswith("text/html"):
        answer.body.decode()


def leads_here(answer):
    """Assert that a redirect leads to a path of this site, as every browser reads it.

    A browser reads a backslash as a slash, but not in the fragment. A login with a provider leads
    there.
    """
    location = dict(answer.headers).get("Location")
    if location is not None and not location.startswith(f"https://{PROVIDER}/login/oauth/"):
        assert re.fullmatch(r"/(?!/)[!\"$-\[\]-~]*(?:#[!-~]*)?", location)
    assert location is not None or answer.status not in (302, 303)
    assert location is None or answer.status in (201, 302, 303)


def knows_nobody_else(request, answer):
    """Assert that only a valid credential identifies, and that REMOTE_USER says so or is absent."""
    if answer.kind == JSON and b'"remote_user"' in answer.body:
        seen = json.loads(answer.body)
        ada = [(USERNAME, USERNAME, each) for each in ("Bearer", "Cookie")]
        found = (seen["user"], seen["remote_user"], seen["auth_type"])
        assert found == (None, None, None) or (found in ada and request.has_credential())
    assert MEMBERS.encode() not in answer.body or request.has_credential()
    describes_user = re.search(rb'"is_superuser": ?(true|false)', answer.body)
    assert not describes_user or answer.status == 201 or request.has_credential()


# What a template gives to a field only where it applies.
OPTIONAL_ATTRIBUTES = {"aria-describedby", "aria-invalid", "autofocus", "checked"}


class _Elements(HTMLParser):
    """Collects tags with the names of their attributes, and comments."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):
        self.found.add((tag, *sorted({name for name, _ in attrs} - OPTIONAL_ATTRIBUTES)))

    def handle_endtag(self, tag):
        self.found.add(("/", tag))

    def handle_comment(self, data):
        self.found.add(("!", data))


def elements(html):
    """Return what a page consists of, less its text."""
    parser = _Elements()
    parser.feed(html.decode())
    parser.close()
    return parser.found


@cache
def elements_of_templates():
    """Return what our pages consist of."""
    pages = Pages("/auth")
    return set().union(*(elements(pages.render(REQUEST, each).body) for each in EXAMPLES))


def shows_text_only(answer):
    """Assert that a page has no tags and attributes but those of the templates."""
    if answer.kind.startswith("text/html") and answer.body.startswith(b"<!doctype"):
        unknown = elements(answer.body) - elements_of_templates()
        assert not unknown, unknown


# What is right, spoilt in a few places; what is dear, as often as it fits; and noise. All of it is
# drawn from a `random.Random`: Hypothesis's own, which can shrink, or a plain one, which is fast.

LATIN1 = "".join(map(chr, range(256)))
ODD_CHARACTERS = "\0\t \x7f\xad\xe9\u0130\u0344\u200b\u202e\u3002\ud800\udfff\ufb03\uffff\U0001d160"
ANYWHERE = [
    *("\0", "\r\n", "\n", "\xff", " ", "\t", "/", "%", "\\", '"', ";", ",", "=", "[", ":", "."),
    *("\x1b[0m", "<script>", '"><b id="'),
]
MARKUP = ["<script>", '"><b id="', "'><b id='", '" onfocus="', "-->", "</p><p>", "$next", "&#60;"]


def is_rare(chance):
    """Return True one time in ten."""
    return chance.randrange(10) == 9


def noise(chance):
    """Return a few bytes."""
    return "".join(chance.choices(LATIN1, k=chance.randrange(12)))


def spoilt(chance, originals, pieces, longest):
    """Return one of the originals with some parts replaced, repeated or left out."""
    text = chance.choice(originals)
    for _ in range(chance.randrange(4)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.randrange(8))
        instead = chance.choice(["", text[start:end] * 2, noise(chance), *pieces, *ANYWHERE])
        text = text[:start] + instead + text[end:]
    return text[:longest]


def repeated(chance, originals, pieces, longest):
    """Return a text of up to `longest` characters that says the same again and again."""
    start, end = chance.choice(["", *originals]), chance.choice(["", *originals])
    unit = "".join(chance.choice([*pieces, *ANYWHERE]) for _ in range(chance.randint(1, 2)))
    length = chance.choice([50, 500, 4000, longest]) - len(start) - len(end)
    return start + unit * max(0, length // len(unit)) + end


def hostile(chance, originals, pieces=(), longest=9000):
    """Return a text that was to be like one of the originals."""
    kind = chance.randrange(8)
    if kind < 3:
        return chance.choice(originals)
    if kind < 6:
        return spoilt(chance, originals, pieces, longest)
    return repeated(chance, originals, pieces, longest) if kind == 6 else noise(chance)


def base64url(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


ODD_VALUES = [
    *(None, True, False, 0, -1, 1.5, 2**63, 10**39, 10**400, 1e300, float("nan"), float("inf")),
    *([], {}, [[]], ["at+jwt"], {"typ": None}, "", "\ud800", "HS256", [[[[[[[[]]]]]]]]),
]


def forged_token(chance):
    """Return a token of the right form, signed with our key or another, that no login has."""

    def part(**claims):
        while is_rare(chance):
            name = chance.choice([*claims, "crit", "kid", "b64", "jku"])
            claims[name] = chance.choice(ODD_VALUES)
        return base64url(json.dumps(claims).encode())

    subject, session = chance.choice(
        [("2", SESSION), ("1", "another"), (1, SESSION), ("01", SESSION), ("9" * 19, SESSION)]
    )
    algorithm = chance.choice(["HS256", "HS256", "HS384", "none", "RS256", "hs256"])
    header = part(typ="at+jwt", alg=algorithm)
    signed = f"{header}.{part(sub=subject, jti=session, iat=1, exp=LATER)}"
    key = chance.choice([SECRET_KEY, SECRET_KEY, "", "another"]).encode()
    signature = base64url(hmac.digest(key, signed.encode(), hashlib.sha256))
    return f"{signed}.{chance.choice([signature, signature, '', 'x'])}"


def token(chance):
    """Return the valid token, something like it, or a forgery."""
    kind = chance.randrange(4)
    if kind < 2:
        return forged_token(chance) if kind else TOKEN
    deep = f"{base64url(b'[' * 3000)}.e30.e30"
    return hostile(chance, [TOKEN, f"{TOKEN}=", deep], ["=", ".", "e30", "bnVsbA", "W10", "A"])


def authorization(chance):
    if chance.randrange(2):
        return hostile(chance, ["Bearer ", "Basic YTpi", "Digest username=x"], ["Bearer "])
    return chance.choice(["Bearer ", "bearer\t", "BEARER  ", "Bearer", "Basic "]) + token(chance)


def cookie(chance):
    if chance.randrange(2):
        return hostile(chance, [f"wsgiauth={TOKEN}", "a=b; c"], ["wsgiauth=", "a=b;", "\\073"])
    start = ["wsgiauth=", "a=b; wsgiauth=", '__Host-wsgiauth="', "wsgiauth=;wsgiauth="]
    end = ["", ";", '"', "; wsgiauth=x", "; $Path=/"]
    return chance.choice(start) + token(chance) + chance.choice(end)


def script_name(chance):
    scripts = ["", "/site", "/caf\xc3\xa9", "/a b", "//evil.example", "/\\evil.example", "/auth"]
    script = hostile(chance, scripts, ["//", "/.."]).lstrip("/")
    return f"/{chance.choice(['', '/'])}{script}" if script else ""


PATHS = [
    *("/", "", "/auth", "/auth/", "/authx", "/auth/login/", "//auth/login", "/auth//login"),
    *("/auth/../", "/auth/./login", "/auth/login\0", "/auth/login;x", "/AUTH/login", "*"),
    *("/caf\xc3\xa9", "/\xff", "//evil.example/", "/\\evil.example", "http://evil.example/"),
]
PUBLIC_AND_GUARDED = ["/", *VIEWS]
# Of the parts of paths.
EXAMPLE_OF = {"id": "1", "action": "deactivate", "provider": "github", "client": "wiki"}
DESCRIBED = {
    f"/auth{path.format_map(EXAMPLE_OF)}": operations.get("post", {})
    for path, operations in ROUTES["/openapi.json"].document["paths"].items()
}
ENDPOINTS = [*DESCRIBED, "/.well-known/change-password"]
POSTED = {
    path: [*schema_of(operation).get("properties", ())]
    for path, operation in DESCRIBED.items()
    if "requestBody" in operation
}
ACCEPTS = [BROWSER["Accept"], "text/html", JSON, "*/*", "text/html;q=0.5, application/json"]
NEXTS = ["/a?b=c#d", "//evil.example", "/\\evil.example", "https://evil.example/", "/auth/logout"]
PERCENT = [
    *("%", "%0a", "%2f", "%5C", "%zz", "%u0041", "%FF", "%ED%A0%80", "%C3"),
    *("+", "&", "=", "?", "#", "next=", "//", "/..", "a/"),
]
TYPES = [JSON, FORM, f"{JSON}; charset=utf-8", f'{FORM};charset="UTF-8"', "text/plain"]
LENGTHS = ["", "0", "1", "-1", "+1", "1e3", "0x10", "16384", "16385", "9" * 30, "\xb2", " 5"]

# By variable: what it could be, and what has a meaning or is dear in it; or what makes it.
VARIABLES = {
    "REQUEST_METHOD": (["GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "get", "PRI"],),
    "SCRIPT_NAME": script_name,
    "PATH_INFO": ([*PATHS, *PUBLIC_AND_GUARDED, *ENDPOINTS], ["//", "/..", "/auth", "%2f"]),
    "QUERY_STRING": (["next=%FF", *(f"next={quote(each)}" for each in NEXTS)], PERCENT),
    "CONTENT_TYPE": (TYPES, [";charset=", "utf-8", "multipart/form-data; boundary=x"]),
    "CONTENT_LENGTH": (LENGTHS, ["0", "9"]),
    "HTTP_AUTHORIZATION": authorization,
    "HTTP_COOKIE": cookie,
    "HTTP_ACCEPT": (ACCEPTS, ["text/html", "*/*", ";q=", ";q=0.001", "*", ';a="\\"', "a=b"]),
    "HTTP_HOST": (["localhost", "evil.example", "[::1]:80", "a@b"],),
    "HTTP_ORIGIN": (["null", "http://localhost", "http://[", "//"], ["://", "]", "@"]),
    "HTTP_SEC_FETCH_SITE": (["same-origin", "none", "cross-site", "same-site", ""],),
    "HTTP_SEC_PURPOSE": (["prefetch", "prefetch;prerender"],),
    "HTTP_X_FORWARDED_FOR": (["127.0.0.1", "::1"],),
    "REMOTE_ADDR": (["127.0.0.1", "::1", "fe80::1%eth0", "", "10.0.0.1:80"], ["::", "0"]),
    "REMOTE_USER": (["root", USERNAME],),
    "AUTH_TYPE": (["Basic"],),
    "SERVER_PROTOCOL": (["HTTP/1.0", "HTTP/0.9", "HTTP/2"],),
    "wsgi.url_scheme": lambda chance: chance.choice(["http", "https"]),
    "wsgi.input_terminated": lambda chance: True,
    "wsgiauth.user": lambda chance: "root",
    "wsgiauth.session": lambda chance: "root",
    "webob.adhoc_attrs": lambda chance: chance.choice([{"user": "root"}, "root"]),
}
OPTIONAL = ["SCRIPT_NAME", "PATH_INFO", "SERVER_PROTOCOL"]

FIELDS = ["username", "email", "password", "credential", "next", "is_superuser", "id"]
NAMES = [USERNAME, EMAIL, "\uff21da", "Grace", "grace@example.org", "a b", "@", "\u202eada"]
PASSWORDS = [PASSWORD, "password", "x" * 72, "x" * 73, "\0" * 8, "short"]
# Those that take the longest to compare, in either order of their combining classes.
UNITS = ["a", "\u0344", "\u0334", "\ufdfa", "\U0001d160", "\u1fb7", "a@", "a.", "\u3002", "\ufb03"]


def text(chance):
    """Return a value of a field."""
    kind = chance.randrange(6)
    if kind < 3:
        return chance.choice(chance.choice([NAMES, PASSWORDS, MARKUP]))
    if kind == 3:
        return "".join(chance.choices(ODD_CHARACTERS, k=chance.randrange(12)))
    if kind == 4:
        return repeated(chance, NAMES, UNITS, MAX_BODY // 3)
    length = chance.choice([20, 1000, 4000])
    return chance.choice(UNITS) * length + chance.choice(UNITS) * length


def pairs(chance, names):
    """Return fields, some of them twice, and what is in them; `names` are those that count."""
    somebody = chance.choice([USERNAME, EMAIL, f"grace{chance.randrange(1000)}"])
    fields = {"username": somebody, "email": f"{somebody}@example.org", "password": PASSWORD}
    for name in names:
        if name not in fields and chance.randrange(2):
            fields[name] = chance.choice(["on", "x", "1", "a.read", EMAIL])
    for name in chance.sample(FIELDS, chance.randrange(4)):
        fields[name] = hostile(chance, NEXTS, PERCENT) if name == "next" else text(chance)
    more = [(chance.choice([*FIELDS, text(chance)]), text(chance))] if is_rare(chance) else []
    return [*fields.items(), *more]


def json_body(chance, names):
    """Return nearly what an endpoint takes."""
    ascii_only = chance.randrange(2) == 1
    values = [
        (name, chance.choice(ODD_VALUES) if is_rare(chance) else value)
        for name, value in pairs(chance, names)
    ]
    members = (
        ":".join(json.dumps(each, ensure_ascii=ascii_only) for each in pair) for pair in values
    )
    body = as_latin1(f"{{{','.join(members)}}}")
    dear = ["[", '{"":', "9", "0.", "\\ud800", "NaN", "1e999", '"', "[1],", "\\u0344"]
    return body if chance.randrange(3) else hostile(chance, [body, '{"next":'], dear, MAX_BODY)


def form(chance, names):
    """Return nearly what a page sends."""
    if chance.randrange(2):
        body = urlencode(pairs(chance, names), errors="surrogatepass")
    else:
        body = as_latin1("&".join(map("=".join, pairs(chance, names))))
    return body if chance.randrange(3) else hostile(chance, [body], PERCENT, MAX_BODY)


def as_latin1(text):
    return text.encode(errors="surrogatepass").decode("latin-1")


def variable(chance, name):
    """Return what one variable may hold."""
    make = VARIABLES[name]
    return make(chance) if callable(make) else hostile(chance, *make)


def request(chance, environ, body="", fixed=()):
    """Return a request in which a few variables, other than the fixed ones, are hostile."""
    names = [name for name in VARIABLES if name not in fixed]
    for name in chance.sample(names, chance.randrange(5)):
        environ[name] = variable(chance, name)
    if is_rare(chance) and not fixed:
        environ[chance.choice(OPTIONAL)] = None
    step = chance.choice([MAX_BODY, 1000, 7])
    return Request(environ, body.encode("latin-1"), step, is_rare(chance))


def visit(chance):
    """Return a visit to any page, by nobody in particular."""
    environ = {
        "REQUEST_METHOD": chance.choice(["GET", "GET", "POST", "HEAD"]),
        "PATH_INFO": chance.choice(chance.choice([PATHS, PUBLIC_AND_GUARDED, ENDPOINTS])),
        "HTTP_ACCEPT": chance.choice(ACCEPTS),
    }
    return request(chance, environ)


def stranger_visit(chance):
    """Return a visit with a credential that is nearly one."""
    name = chance.choice(["HTTP_AUTHORIZATION", "HTTP_COOKIE"])
    environ = {"PATH_INFO": chance.choice(PUBLIC_AND_GUARDED), name: variable(chance, name)}
    return Request(environ)


def member_visit(chance):
    """Return a visit of Ada's, who may lose her credential on the way."""
    environ = {
        "PATH_INFO": chance.choice([*PUBLIC_AND_GUARDED, *ENDPOINTS]),
        "HTTP_ACCEPT": chance.choice(ACCEPTS),
        **chance.choice(
            [{"HTTP_AUTHORIZATION": f"Bearer {TOKEN}"}, {"HTTP_COOKIE": f"wsgiauth={TOKEN}"}]
        ),
    }
    return request(chance, environ)


def bearer_visit(chance):
    """Return a visit to a public page with Ada's token in the header that wins over all others."""
    environ = {"PATH_INFO": "/", "HTTP_AUTHORIZATION": f"Bearer {TOKEN}"}
    return request(chance, environ, fixed=("PATH_INFO", "HTTP_AUTHORIZATION"))


def json_post(chance):
    """Return what a program sends to an endpoint that takes a body."""
    return _post(chance, JSON, json_body)


def form_post(chance):
    """Return what a page sends to an endpoint that takes a body."""
    return _post(chance, FORM, form)


def way_on(chance):
    """Return what is answered by a redirect to a destination of the client's choice."""
    fields = {"next": hostile(chance, NEXTS, PERCENT), "username": USERNAME, "password": PASSWORD}
    if chance.randrange(2):
        query = urlencode({"next": fields["next"]})
        environ = {"PATH_INFO": "/auth/logout", "QUERY_STRING": query, "HTTP_ACCEPT": "text/html"}
        return Request({**environ, "SCRIPT_NAME": script_name(chance)})
    body = urlencode(fields).encode()
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/auth/login", "CONTENT_TYPE": FORM}
    return Request({**environ, "CONTENT_LENGTH": str(len(body))}, body)


def _post(chance, media_type, make_body):
    path = chance.choice([*POSTED])
    octets = make_body(chance, POSTED[path])
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "CONTENT_TYPE": media_type,
        "CONTENT_LENGTH": str(max(0, len(octets) + chance.choice([0, 0, 0, 0, 0, 1, -1, 1000]))),
        "HTTP_ACCEPT": chance.choice(ACCEPTS),
    }
    if chance.randrange(2):
        environ["HTTP_AUTHORIZATION"] = f"Bearer {TOKEN}"
    return request(chance, environ, octets)


def anything(chance):
    """Return any of them."""
    return chance.choice(KINDS)(chance)


KINDS = [visit, stranger_visit, member_visit, bearer_visit, json_post, form_post, way_on]
