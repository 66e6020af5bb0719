"""Each framework's recipe, as docs/frameworks.md has it: who is calling, and what that opens."""

from urllib.parse import unquote

import pytest

from tests.frameworks.conftest import PACKAGES, Visitor, each_of
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN

MARK = "for members"  # in the page that only members may see
CHALLENGE = 'Bearer realm="wsgiauth"'


@pytest.fixture(params=each_of(["plain", *PACKAGES]))
def framework(request):
    return request.param


@pytest.fixture
def visitor(recipe, framework):
    return Visitor(recipe(framework).application)


# Who is calling


def test_a_stranger_is_nobody(visitor):
    assert visitor.get("/").json == {"user": None}


def test_a_token_names_its_user(visitor):
    bearer = visitor.bearer()
    assert visitor.get("/", headers=bearer).json == {"user": "Ada"}
    assert visitor.get("/").json == {"user": None}


@pytest.mark.parametrize("name", ["Zoë", "Ωμέγα", "李"])
def test_a_name_is_the_same_in_any_script(visitor, name):
    account = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
    visitor.post_json("/auth/register", account, status="*")  # or has done so, in another test
    assert visitor.get("/", headers=visitor.bearer(name)).json == {"user": name}


# One view


def test_a_browser_is_sent_to_log_in_and_back(visitor):
    refused = visitor.get("/account?tab=2", headers=BROWSER, status=302)
    assert unquote(refused.location) == "/auth/login?next=/account?tab=2"
    page = visitor.log_in("/account")
    assert (page.request.path, page.json) == ("/account", {"user": "Ada"})
    assert visitor.get("/").json == {"user": "Ada"}


def test_a_program_is_asked_for_a_token(visitor, framework):
    # Django's login_required redirects everybody, as its recipe says.
    refused = visitor.get("/members/news" if framework == "django" else "/account", status=401)
    assert refused.headers["WWW-Authenticate"] == CHALLENGE
    assert refused.content_type == "application/problem+json"
    assert refused.json["code"] == "unauthenticated"


def test_a_program_is_told_that_its_token_is_no_good(visitor):
    refused = visitor.get("/members/news", headers={"Authorization": "Bearer x"}, status=401)
    assert refused.headers["WWW-Authenticate"] == f'{CHALLENGE}, error="invalid_token"'


def test_a_token_opens_the_view(visitor):
    assert visitor.get("/account", headers=visitor.bearer()).json == {"user": "Ada"}


# Everything below a path


def test_what_is_below_a_path_is_for_members(visitor):
    refused = visitor.get("/members/news", status=401)
    assert refused.headers["WWW-Authenticate"] == CHALLENGE
    assert MARK not in refused
    assert MARK in visitor.get("/members/news", headers=visitor.bearer(), status=200)


def test_a_browser_is_sent_from_there_to_log_in_and_back(visitor):
    page = visitor.log_in("/members/news")
    assert page.request.path.replace("//", "/") == "/members/news"  # Bottle leaves one / more
    assert MARK in page


PATHS = [
    *("//members/news", "///members/news", "/members//news", "//members//news"),
    *("/members/news/", "/members/news//", "/members/", "/members"),
    *("/./members/news", "/members/./news", "/members/../members/news", "/x/../members/news"),
    *("/Members/news", "/MEMBERS/NEWS", "/members/News", "/%6dembers/news"),
    *("/members%2Fnews", "/members%2fnews", "/%2fmembers/news", "/members%5cnews"),
    *("/members;x/news", "/members/news;x", "/members/news%00", "/members/news%20"),
    *("/members%20/news", "/%09members/news", "/members/news%0a", "/members.json/news"),
    *("/members%C0%AFnews", "/%EF%BD%8Dembers/news", "/members/news%3F", "/members/news.html"),
    *("/members/news?user=Ada", "/members/news?_method=HEAD", "/members/%E8%AA%9E"),
    *("/static/../members/news", "/auth/../members/news", "/auth%2f../members/news"),
]


def test_no_spelling_of_the_path_gets_around_that(visitor, framework):
    for path in PATHS:
        if framework == "pyramid" and "%C0" in path:
            continue  # it raises URLDecodeError to the server, with accounts or without
        answer = visitor.get(path, expect_errors=True)
        assert (MARK in answer, answer.status_int < 500) == (False, True), path


METHODS = ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "get", "X"]


@pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")  # by WebTest's lint, of the last two
def test_no_method_gets_around_that(visitor):
    for method in METHODS:
        answer = visitor.request("/members/news", method=method, expect_errors=True)
        assert (MARK in answer, answer.status_int != 200) == (False, True), method


HEADERS = [
    *("X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix", "Script-Name", "Path-Info"),
    *("Remote-User", "X-Remote-User", "X-Forwarded-User", "Logon-User", "REMOTE_USER"),
    *("wsgiauth.user", "bottle.request.ext.user", "X-HTTP-Method-Override"),
]


def test_no_header_gets_around_that(visitor):
    for header in HEADERS:
        for value in ("/members/news", "Ada", "GET"):
            assert visitor.get("/", headers={header: value}).json == {"user": None}, header
            visitor.get("/members/news", headers={header: value}, status=401)


# Logging out


def test_a_browser_is_logged_out_by_its_next_request(visitor):
    visitor.log_in("/account")
    visitor.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert visitor.get("/").json == {"user": None}
    visitor.get("/account", headers=BROWSER, status=302)
    visitor.get("/members/news", headers=BROWSER, status=302)


def test_a_cookie_that_was_kept_is_worth_nothing_after_that(visitor):
    visitor.log_in("/account")
    kept = {"Cookie": "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())}
    visitor.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    visitor.reset()
    assert visitor.get("/", headers=kept).json == {"user": None}
    visitor.get("/members/news", headers=kept, status=401)


def test_a_token_is_worth_nothing_after_logout(visitor):
    bearer = visitor.bearer()
    visitor.post("/auth/logout", headers=bearer, status=200)
    assert visitor.get("/", headers=bearer).json == {"user": None}
    visitor.get("/members/news", headers=bearer, status=401)
