"""`AuthMiddleware(public=…, require=…)`: what is public, and how all else is refused."""

import unicodedata

import pytest
from webob import Request
from webob.static import DirectoryApp
from webtest import TestApp

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.spellings import PUBLIC, gullible, wsgi
from wsgiauth import AuthMiddleware, storage
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.gate import PathRules

CHALLENGE = 'Bearer realm="wsgiauth"'


@pytest.fixture
def make_site(settings):
    """Return a function that wraps an application with `public` and `require`."""
    made = []

    def wrap(app=echo, **arguments):
        made.append(AuthMiddleware(app, settings, **arguments))
        return made[-1]

    yield wrap
    for each in (*(site.database for site in made), storage.current()):
        storage.discard_connection(each)


@pytest.fixture
def site(make_site):
    return make_site(public=PUBLIC)


def ask(site, path_info, method="GET", **headers):
    """Send a PATH_INFO as it stands, which WebTest would encode."""
    request = Request.blank("/", method=method, headers=headers)
    request.environ["PATH_INFO"] = path_info
    return request.get_response(site)


# What is public.


ORDINARY = [
    *("/", "/pub/", "/pub/open", "/pub/a/b/", "/pub/a.b-c_d~e/.hidden", "/pub/[id]/{x}"),
    *("/pub/two words.txt", "/pub/ leading", "/pub/a=b&c,d!e$f'(g)*@h+", "/pub/v1.2.3"),
    *("/pub/caf\xe9", "/pub/\u65e5\u672c.html", "/pub/e\u0301.\xe9", "/pub/\u0438/\U0001f600"),
]


def test_an_ordinary_public_path_needs_no_login(site):
    paths = [*map(wsgi, ORDINARY)]
    assert [ask(site, path).json["path_info"] for path in paths] == paths


def test_the_address_of_the_application_without_a_slash_is_the_home_page(make_site):
    assert ask(make_site(public=["/"]), "").status_int == 200
    assert ask(make_site(public=["/pub/"]), "").status_int == 401


@pytest.mark.promise(48)
def test_a_request_without_a_path_is_one_to_the_home_page(site, make_site):
    for made, status in ((site, 200), (make_site(public=()), 401)):
        request = Request.blank("/")
        del request.environ["PATH_INFO"]
        assert request.get_response(made).status_int == status


@pytest.mark.promise(48)
def test_everything_else_needs_one(site):
    paths = ("/priv", "/pub", "/public/x", "/pubx", "/Pub/x", "/PUB/", "*")
    assert [path for path in paths if ask(site, path).status_int != 401] == []


@pytest.mark.promise(48)
def test_an_exact_path_is_no_prefix(make_site):
    site = make_site(public=["/robots.txt"])
    assert ask(site, "/robots.txt").status_int == 200
    others = ("/robots.txt/", "/robots.txt/x", "/robots.tx", "/robots.txt ")
    assert [path for path in others if ask(site, path).status_int != 401] == []


ODD = {
    "an empty segment": "/pub//x",
    "a leading empty segment": "//pub/x",
    "a final empty segment": "/pub/x//",
    "this folder": "/pub/./x",
    "this folder at the end": "/pub/.",
    "the parent": "/pub/../x",
    "the parent at the end": "/pub/..",
    "the parent in a segment": "/pub/a../x",
    "the parent with more": "/pub/..+/x",
    "dots in a row": "/pub/a..b",
    "three dots": "/pub/.../x",
    "a final dot": "/pub/x.",
    "a dot before a slash": "/pub/x./y",
    "a final space": "/pub/x ",
    "a space before a slash": "/pub/x /y",
    "a backslash": "/pub/x\\y",
    "a percent sign": "/pub/x%2e",
    "a semicolon": "/pub/x;y",
    "a question mark": "/pub/x?y",
    "a number sign": "/pub/x#y",
    "a colon": "/pub/c:/y",
    "a wildcard of Windows": "/pub/<<",
    "a NUL": "/pub/x\0",
    "a newline": "/pub/x\n",
    "a tab": "/pub/\tx",
    "a delete": "/pub/x\x7f",
    "a C1 control": wsgi("/pub/x\x85y"),
    "Latin-1": "/pub/caf\xe9",
    "an overlong dot": "/pub/\xc0\xaex",
    "an encoded surrogate": "/pub/\xed\xa0\x80",
    "no bytes": "/pub/\u65e5",
    "a soft hyphen": wsgi("/pub/x\xady"),
    "a zero-width space": wsgi("/pub/x\u200by"),
    "a right-to-left override": wsgi("/pub/x\u202ey"),
    "a no-break space": wsgi("/pub/x\xa0y"),
    "an unassigned character": wsgi("/pub/x\u0378y"),
    "a character of private use": wsgi("/pub/x\ue000y"),
    "a line separator": wsgi("/pub/x\u2028y"),
    "a two-dot leader": wsgi("/pub/x\u2025y"),
    "a fullwidth slash": wsgi("/pub/x\uff0fy"),
    "a fullwidth percent sign": wsgi("/pub/x\uff05y"),
    "account of": wsgi("/pub/x\u2100y"),
    "dots between accents": wsgi("/pub/.\xe9.\xe9/x"),
    "dots and spaces between accents": wsgi("/pub/\xe9. \xe9.\xe9 \xe9"),
    "dots and plus signs between accents": wsgi("/pub/+.\xe9.\xe9+\xe9"),
}


@pytest.mark.promise(48)
def test_below_a_public_prefix_what_is_not_in_normal_form_needs_a_login(site):
    assert [name for name, path in ODD.items() if ask(site, path).status_int != 401] == []


@pytest.mark.slow
@pytest.mark.promise(48)
@pytest.mark.uncounted
def test_no_single_character_is_read_as_the_syntax_of_paths():
    rules = PathRules(PUBLIC, None, "/auth")
    for code in range(0x80, 0x11_0000):
        character = chr(code)
        means = unicodedata.normalize("NFKC", character)
        if not set(means).isdisjoint("./\\%:;?#"):
            assert rules.needed(wsgi(f"/pub/a{character}b")) is not None


@pytest.mark.promise(48)
def test_files_of_webob_beside_the_public_ones_need_a_login(make_site, tmp_path, ada, bearer):
    for name in ("pub", "priv"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    site = make_site(DirectoryApp(tmp_path), public=PUBLIC)
    assert ask(site, "/pub/file").text == "pub"
    for path in ("/priv/file", "/pub/../priv/file", "/pub/./../priv/file", "/pub//../priv/file"):
        assert ask(site, path).status_int == 401
        assert ask(site, path, **bearer(ada)).text == "priv"


@pytest.mark.promise(48)
def test_no_method_needs_less(site):
    preflight = {"Origin": "https://other.example", "Access-Control-Request-Method": "GET"}
    for method in ("GET", "HEAD", "POST", "OPTIONS", "get", "PURGE"):
        assert ask(site, "/priv", method, **preflight).status_int == 401, method
        assert ask(site, "/pub/open", method, **preflight).status_int == 200, method


@pytest.mark.promise(48)
def test_paths_are_those_below_the_prefix_of_the_middleware(site):
    for path_info, status in {"/pub/open": 200, "/priv": 401, "/x/pub/open": 401}.items():
        request = Request.blank("/", environ={"SCRIPT_NAME": "/pub"})
        request.environ["PATH_INFO"] = path_info
        assert request.get_response(site).status_int == status


def test_a_login_opens_everything(site, ada, bearer):
    assert ask(site, "/priv", **bearer(ada)).json["user"] == USERNAME
    assert ask(site, "/pub/..", **bearer(ada)).json["path_info"] == "/pub/.."


def test_a_public_page_knows_who_is_logged_in(site, ada, bearer):
    assert ask(site, "/pub/open", **bearer(ada)).json["user"] == USERNAME


def test_without_the_argument_everything_is_public(make_site):
    assert ask(make_site(), "/pub/../priv").status_int == 200


def test_an_empty_list_makes_nothing_public(make_site):
    site = make_site(public=[])
    assert {ask(site, path).status_int for path in ("", "/", "/pub/")} == {401}


# How the others are refused.


def test_a_program_gets_the_challenge(site):
    answer = ask(site, "/priv")
    assert (answer.headers["WWW-Authenticate"], answer.json["code"]) == (
        CHALLENGE,
        "unauthenticated",
    )


def test_a_program_with_a_bad_token_gets_that_challenge(site):
    answer = ask(site, "/priv", Authorization="Bearer x.y.z", **BROWSER)
    assert answer.headers["WWW-Authenticate"] == f'{CHALLENGE}, error="invalid_token"'


def test_a_browser_is_sent_to_the_login_page_and_back(make_site, ada):
    client = TestApp(make_site(public=(), mount="/me"), {"SCRIPT_NAME": "/app"})
    login = client.get("/priv?page=2", headers=BROWSER, status=302)
    assert login.location == "/app/me/login?next=%2Fapp%2Fpriv%3Fpage%3D2"
    form = client.get("/me/login?next=%2Fapp%2Fpriv%3Fpage%3D2", headers=BROWSER).form
    form["username"], form["password"] = USERNAME, PASSWORD
    assert form.submit(headers=SAME_ORIGIN).location == "/app/priv?page=2"
    assert client.get("/priv", headers=BROWSER).json["user"] == USERNAME


DESTINATIONS = [
    ("//evil.example/", "/auth/login?next=%2Fevil.example%2F"),
    ("/\\evil.example/", "/auth/login"),
    ("/pub/\r\nx", "/auth/login"),
]


@pytest.mark.promise(18)
def test_an_unsafe_path_is_no_destination(site):
    for path, location in DESTINATIONS:
        assert ask(site, path, **BROWSER).headers["Location"] == location


def test_what_the_application_refuses_itself_is_still_challenged(make_site):
    def refuse(environ, start_response):
        start_response("401 Unauthorized", [])
        return []

    site = make_site(refuse, public=["/"], challenge=True)
    for path in ("/", "/priv"):
        assert ask(site, path).headers["WWW-Authenticate"] == CHALLENGE


def test_wsgiauth_itself_stays_reachable(make_site):
    for public in ((), ["/"]):
        client = TestApp(make_site(public=public, require="site.enter"))
        for path in ("/auth/login", "/auth/register", "/auth/openapi.json"):
            client.get(path, status=200)
        client.get("/.well-known/change-password", status=302)
        client.post("/.well-known/change-password", status=401)


def test_an_application_that_is_a_class_is_not_changed(make_site):
    class View:
        def __init__(self, environ, start_response):
            self.body = echo(environ, start_response)

        def __iter__(self):
            return iter(self.body)

        def __call__(self):
            return "called"

    site = make_site(View, public=PUBLIC)
    assert ask(site, "/priv").status_int == 401
    assert ask(site, "/pub/open").status_int == 200
    names = ("user", "session", "error", "key")
    assert View({f"wsgiauth.{name}": None for name in names}, print)()


@pytest.mark.promise(21)
def test_the_body_is_the_application_s_own(make_site, ada, bearer):
    body = [b"body"]

    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return body

    site = make_site(app, public=["/"])
    for path in ("/", "/priv"):
        environ = Request.blank(path, headers=bearer(ada)).environ
        assert site(environ, lambda *_: None) is body


# One permission for everything.


@pytest.mark.promise(48)
def test_a_permission_can_be_required_of_everything_that_is_not_public(make_site, ada, bearer):
    site = make_site(public=PUBLIC, require="site.enter")
    assert ask(site, "/priv").status_int == 401
    assert ask(site, "/priv", **BROWSER).headers["Location"] == "/auth/login?next=%2Fpriv"
    refused = ask(site, "/priv", **bearer(ada))
    assert (refused.status_int, refused.json["code"]) == (403, "forbidden")
    assert ask(site, "/pub/open", **bearer(ada)).status_int == 200
    ada.grant("site.enter")
    assert ask(site, "/priv", **bearer(ada)).json["user"] == USERNAME


@pytest.mark.promise(48)
def test_a_permission_alone_makes_nothing_public(make_site):
    assert ask(make_site(require="site.enter"), "/").status_int == 401


# Wrong arguments.


def test_a_path_instead_of_a_list_is_refused(make_site):
    with pytest.raises(ConfigurationError, match=r"^public must be a list of paths, such as"):
        make_site(public="/")


def test_a_path_without_a_slash_in_front_is_refused():
    for entry in ("", "static/", "*", "http://site/"):
        with pytest.raises(ConfigurationError, match=r"^public: each path must begin with a slash"):
            PathRules(["/", entry], None, "/auth")


NOT_NORMAL = [
    "//",
    "/a//b",
    "/./",
    "/a/../b",
    "/a\\b",
    "/a%20b",
    "/a?b",
    "/a;b",
    "/a.",
    "/\ud800",
]


def test_a_path_that_is_not_in_normal_form_is_refused():
    for entry in NOT_NORMAL:
        with pytest.raises(ConfigurationError, match=r"^public: '/.*' is not in normal form\."):
            PathRules(["/", entry], None, "/auth")


def test_a_malformed_permission_is_refused():
    for require in ("", "enter", "site.enter.now", 5, ["site.enter"]):
        with pytest.raises(ConfigurationError, match=r'^require: .* "<app>.<action>"'):
            PathRules(["/"], require, "/auth")


def test_any_iterable_is_a_list_of_paths(make_site):
    site = make_site(public=iter(["/caf\xe9/", "/two words"]))
    assert ask(site, wsgi("/caf\xe9/menu")).status_int == 200
    assert ask(site, "/two words").status_int == 200


def test_a_wrong_argument_leaves_no_database_behind(tmp_path, settings):
    database = tmp_path / "other.db"
    with pytest.raises(ConfigurationError):
        AuthMiddleware(
            gullible,
            {"SECRET_KEY": settings.SECRET_KEY, "DATABASE_URL": f"sqlite:///{database}"},
            public="/",
        )
    assert not database.exists()


# Headers from which an application could take another path.


@pytest.mark.promise(48)
def test_with_rules_the_application_gets_no_header_of_another_path(make_site):
    def app(environ, start_response):
        start_response("200 OK", [])
        return [each.encode() for each in environ if each.startswith("HTTP_X_")]

    names = ("Vhm-Root", "Script-Name", "Forwarded-Prefix", "Original-URL", "Rewrite-URL")
    headers = {f"X-{name}": "/secret" for name in (*names, "Forwarded-Host")}
    for rules in ({"public": ["/pub/"]}, {"require": {"/secret/": None}}):
        answer = ask(make_site(app, **rules), "/pub/x", **headers)
        assert answer.body == b"HTTP_X_FORWARDED_HOST"
    assert ask(make_site(app), "/pub/x", **headers).body.count(b"HTTP_X_") == 6
