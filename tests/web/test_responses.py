"""What is answered: JSON, problems, redirects and pages."""

import base64
import dataclasses
import hashlib
import json
import re
from collections import defaultdict
from http import HTTPStatus
from pathlib import Path

import pytest
from webtest import TestApp

import wsgiauth
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.headlines import HEADLINES
from wsgiauth.web.responses import (
    Pages,
    Response,
    challenge,
    failure,
    json_response,
    problem,
    redirect,
    unavailable,
)

PAGES = ["login", "logged_in", "register", "error"]
EMPTY = defaultdict(str)  # a value for whatever a page shows
COMMON = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
HOSTILE = (
    """</title></p>"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;$title{{7*7}}"""
)


def shown(response, method="GET"):
    return TestApp(response).request("/", method=method, expect_errors=True)


def header_of(answer, name):
    (value,) = answer.headers.getall(name)
    return value


def style_hash(answer):
    (style,) = re.findall("<style>(.*?)</style>", answer.text, re.DOTALL)
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def structure(html):
    return [(element.name, sorted(element.attrs)) for element in html.find_all()]


def contents(html):
    values = [value for element in html.find_all() for value in element.attrs.values()]
    return [*map(str, values), *html.main.strings, str(html.title.string)]


def environ_of(accept, root=""):
    return {
        "HTTP_ACCEPT": accept,
        "wsgiauth.root": root,
        "wsgiauth.pages": Pages("/accounts"),
        "REQUEST_METHOD": "GET",
    }


ANSWERS = [
    pytest.param(Response(HTTPStatus.OK), id="nothing"),
    pytest.param(json_response({}), id="JSON"),
    pytest.param(problem(HTTPStatus.CONFLICT, "taken", "Taken."), id="problem"),
    pytest.param(redirect(HTTPStatus.SEE_OTHER, "/"), id="redirect"),
    *(pytest.param(Pages("/auth").render(name, EMPTY), id=f"{name} page") for name in PAGES),
]


@pytest.mark.promise(20)
@pytest.mark.parametrize("response", ANSWERS)
def test_every_answer_has_the_common_headers_once(response):
    answer = shown(response)
    assert {name: header_of(answer, name) for name in COMMON} == COMMON


@pytest.mark.promise(20)
@pytest.mark.parametrize("response", ANSWERS)
def test_every_answer_has_one_policy_which_pages_alone_loosen(response):
    answer = shown(response)
    policy = header_of(answer, "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert policy.endswith("; frame-ancestors 'none'")
    is_page = answer.content_type == "text/html"
    assert is_page or policy == "default-src 'none'; frame-ancestors 'none'"


@pytest.mark.parametrize("response", ANSWERS)
def test_head_is_answered_like_get_without_the_body(response):
    head, get = shown(response, "HEAD"), shown(response)
    assert (head.status, head.headers) == (get.status, get.headers)
    assert head.body == b""
    assert int(get.headers["Content-Length"]) == len(get.body)


def test_json_is_utf_8():
    answer = shown(json_response({"username": "Zoë"}, headers=(("Location", "/auth/me"),)))
    assert answer.status == "200 OK"
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Location"] == "/auth/me"
    assert answer.body == '{"username":"Zoë"}'.encode()


def test_a_problem_has_the_members_of_rfc_9457():
    answer = shown(problem(HTTPStatus.CONFLICT, "taken", "Taken.", headers=(("Allow", "GET"),)))
    assert answer.status == "409 Conflict"
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Allow"] == "GET"
    assert answer.json == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "detail": "Taken.",
        "code": "taken",
    }


def test_a_problem_may_have_messages_by_field():
    errors = {"username": ["Enter a username."]}
    response = problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", "Invalid.", errors=errors)
    assert shown(response).json["errors"] == errors


@pytest.mark.promise(18)
def test_a_redirect_stays_a_path():
    headers = (("Set-Cookie", "a=b"),)
    answer = shown(redirect(HTTPStatus.FOUND, "/auth/login?next=%2F", headers=headers))
    assert answer.status == "302 Found"
    assert answer.headers["Location"] == "/auth/login?next=%2F"
    assert answer.headers["Set-Cookie"] == "a=b"
    assert answer.body == b""


@pytest.mark.promise(18)
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1:1", "[::1]:1"])
def test_a_forged_host_leads_nowhere(client, host):
    headers = {**SAME_ORIGIN, "Host": host, "X-Forwarded-Host": host}
    for query, location in {"": "/auth/login", "?next=/reports": "/reports"}.items():
        answer = client.get(f"/auth/logout{query}", headers=headers, status=303)
        assert answer.headers["Location"] == location


@pytest.mark.parametrize(
    ("error", "value"),
    [
        (None, 'Bearer realm="wsgiauth"'),
        ("invalid_token", 'Bearer realm="wsgiauth", error="invalid_token"'),
    ],
)
def test_a_challenge_asks_for_a_bearer(error, value):
    assert challenge(error) == ("WWW-Authenticate", value)


@pytest.mark.parametrize("accept", ["", "*/*", "application/json"])
def test_a_failure_is_a_problem_for_a_program(accept):
    environ = environ_of(accept)
    response = failure(environ, HTTPStatus.FORBIDDEN, "forbidden", "No.", headers=(("Allow", ""),))
    expected = problem(HTTPStatus.FORBIDDEN, "forbidden", "No.", headers=(("Allow", ""),))
    assert response == expected


def test_a_failure_is_a_page_for_a_browser():
    environ = environ_of(BROWSER["Accept"]) | {"PATH_INFO": "/here"}
    missing = HTTPStatus.NOT_FOUND
    response = failure(environ, missing, "not_found", "Not here.", headers=(("Allow", ""),))
    answer = shown(response)
    assert answer.status == "404 Not Found"
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Allow"] == ""
    assert answer.html.title.text == answer.html.h1.text == "This page does not exist"
    assert "Not here." in answer.html.main.text


@pytest.mark.parametrize(
    ("status", "code", "method", "shown_links"),
    [
        pytest.param(
            HTTPStatus.UNAUTHORIZED,
            "unauthenticated",
            "GET",
            ["/caf%C3%A9/accounts/login?next=%2Fcaf%25C3%25A9%2Fhere", "/caf%C3%A9/"],
            id="who must log in is sent back afterwards",
        ),
        pytest.param(
            HTTPStatus.UNAUTHORIZED,
            "unauthenticated",
            "POST",
            ["/caf%C3%A9/accounts/login", "/caf%C3%A9/"],
            id="but not to what a form was sent to",
        ),
        pytest.param(
            HTTPStatus.FORBIDDEN,
            "forbidden",
            "GET",
            ["/caf%C3%A9/accounts/login?switch=1&next=%2Fcaf%25C3%25A9%2Fhere", "/caf%C3%A9/"],
            id="another account may have the permission",
        ),
        pytest.param(
            HTTPStatus.FORBIDDEN, "cross_origin", "GET", ["/caf%C3%A9/"], id="a login does not help"
        ),
    ],
)
def test_a_page_of_failure_offers_what_helps(status, code, method, shown_links):
    environ = environ_of(BROWSER["Accept"], root="/caf\xc3\xa9") | {
        "SCRIPT_NAME": "/caf\xc3\xa9",
        "PATH_INFO": "/here",
        "REQUEST_METHOD": method,
    }
    links = shown(failure(environ, status, code, "No.")).html.find_all("a", hidden=False)
    assert [link["href"] for link in links] == shown_links


def test_every_failure_has_a_headline_for_people():
    document = json.loads(Path(wsgiauth.__file__).with_name("openapi.json").read_text("utf-8"))
    described = re.findall(
        r'"code": {[^}]*?(?:"const": "(\w+)"|"enum": \[(.*?)\])', json.dumps(document)
    )
    codes = {code for one, several in described for code in [one, *re.findall(r"\w+", several)]}
    about_fields = {"invalid", "taken", "invalid_credentials"}  # told on the form itself
    assert codes - {""} - about_fields <= HEADLINES.keys()
    phrases = {status.phrase for status in HTTPStatus}
    assert phrases.isdisjoint(HEADLINES.values())


def test_the_name_of_the_site_is_in_the_title_and_the_heading_of_every_page():
    for name in PAGES:
        html = shown(Pages("/auth", site_name="Ada & Sons").render(name, EMPTY)).html
        assert html.title.text.endswith(" · Ada & Sons")
        assert html.hgroup.p.text == "Ada & Sons"
        unnamed = shown(Pages("/auth").render(name, EMPTY)).html
        assert (unnamed.hgroup.p.text, "·" in unnamed.title.text) == ("", False)


@pytest.mark.promise(20)
def test_the_name_of_the_site_is_escaped():
    for name in PAGES:
        plain = shown(Pages("/auth", site_name="plain").render(name, EMPTY)).html
        hostile = shown(Pages("/auth", site_name=HOSTILE).render(name, EMPTY)).html
        assert structure(hostile) == structure(plain)
        assert hostile.hgroup.p.text == HOSTILE


def test_the_name_of_the_site_may_be_of_another_encoding():
    name = b"Caf\xe9".decode(errors="surrogateescape")  # as os.environ decodes it
    assert shown(Pages("/auth", site_name=name).render("login", EMPTY)).html.hgroup.p.text == "Caf?"


@pytest.mark.promise(28)
@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_a_database_that_is_away_is_worth_another_try(accept):
    answer = shown(unavailable(environ_of(accept)))
    assert answer.status == "503 Service Unavailable"
    assert answer.headers["Retry-After"].isdigit()


@pytest.mark.promise(20)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_lets_only_itself_be_shown_and_styled(name):
    answer = shown(Pages("/auth").render(name, EMPTY))
    policy = header_of(answer, "Content-Security-Policy")
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "style-src": f"'self' 'sha256-{style_hash(answer)}'",
        "img-src": "'self' data:",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }


@pytest.mark.promise(20)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_needs_no_script_and_nothing_from_elsewhere(name):
    html = shown(Pages("/auth").render(name, EMPTY)).html
    assert html.find_all(["script", "iframe", "object", "embed", "base", "img"]) == []
    (link,) = html.find_all("link")
    assert (link["rel"], link["href"].partition(",")[0]) == (["icon"], "data:image/svg+xml")
    attributes = {attribute for element in html.find_all() for attribute in element.attrs}
    assert not {name for name in attributes if name.startswith("on") or name in ("style", "src")}


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("login", ["next", "username", "message", "login_url", "register_url"]),
        ("logged_in", ["username", "continue_url", "switch_url", "logout_url"]),
        (
            "register",
            [
                *("next", "username", "email", "login_url", "register_url"),
                *("username_error", "email_error", "password_error"),
            ],
        ),
        ("error", ["status", "title", "detail", "home_url", "login_url", "login_text"]),
    ],
    ids=PAGES,
)
def test_every_value_is_escaped(name, values):
    pages = Pages("/auth")
    plain = shown(pages.render(name, EMPTY | dict.fromkeys(values, "plain"))).html
    hostile = shown(pages.render(name, EMPTY | dict.fromkeys(values, HOSTILE))).html
    assert structure(hostile) == structure(plain)
    assert contents(hostile) == [text.replace("plain", HOSTILE) for text in contents(plain)]


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/auth/login", {"username": HOSTILE, "password": PASSWORD}),
        ("/auth/register", {"username": HOSTILE, "email": EMAIL, "password": PASSWORD}),
        ("/auth/register", {"username": "Eve", "email": HOSTILE, "password": PASSWORD}),
    ],
    ids=["login", "username", "email"],
)
def test_a_form_that_comes_back_holds_what_was_typed_but_no_password(client, path, fields):
    answer = client.post(path, fields, headers=SAME_ORIGIN, status="4*")
    assert answer.form["password"].value == ""
    assert PASSWORD not in answer.text
    for name in fields.keys() - {"password"}:
        assert answer.form[name].value == fields[name]


@pytest.mark.promise(20)
def test_a_query_cannot_put_anything_into_a_page(client):
    answer = client.get("/auth/login", {"next": HOSTILE, "username": HOSTILE, "message": HOSTILE})
    assert "onerror" not in answer.text


@pytest.fixture
def folder(tmp_path):
    """Return a folder for pages of one's own."""
    folder = tmp_path / "pages"
    folder.mkdir()
    return folder


def render(folder, name="login", **values):
    return shown(Pages("/auth", str(folder)).render(name, EMPTY | values))


def test_a_file_in_the_folder_replaces_the_page_of_its_name(folder):
    (folder / "login.html").write_text("<p>Grüß Gott, $username: $$5</p>", encoding="utf-8")
    assert render(folder, username="Zoë").text == "<p>Grüß Gott, Zoë: $5</p>"
    assert render(folder, "register").text == shown(Pages("/auth").render("register", EMPTY)).text


@pytest.mark.promise(20)
def test_values_are_escaped_in_a_page_of_ones_own_too(folder):
    (folder / "error.html").write_text("<p title='$title'>${detail}</p>", encoding="utf-8")
    html = render(folder, "error", title=HOSTILE, detail=HOSTILE).html
    assert structure(html) == [("p", ["title"])]
    assert (html.p["title"], html.p.text) == (HOSTILE, HOSTILE)


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    "style",
    [
        pytest.param("p { color: teal }", id="short"),
        pytest.param("p {\r\n  color: teal;\r\n}\r\n", id="lines of Windows"),
        pytest.param("p::before { content: '$5 · é' }", id="dollars and more"),
        pytest.param("", id="empty"),
    ],
)
def test_the_policy_allows_a_style_of_ones_own(folder, style):
    (folder / "style.css").write_bytes(style.encode())
    for name in PAGES:
        answer = render(folder, name)
        assert style.replace("\r\n", "\n") in answer.text
        assert f"'sha256-{style_hash(answer)}'" in answer.headers["Content-Security-Policy"]


@pytest.mark.promise(29)
@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        pytest.param("login.html", b"$email", "'email'", id="a value of another page"),
        pytest.param("error.html", b"$password", "'password'", id="an unknown value"),
        pytest.param("register.html", b"5 $ or more", "Invalid placeholder", id="a lone dollar"),
        pytest.param("login.html", b"$", "Invalid placeholder", id="a dollar at the end"),
        pytest.param("login.html", b"${username", "Invalid placeholder", id="an open brace"),
        pytest.param("login.html", b"\xff", "cannot be read", id="a page that is no UTF-8"),
        pytest.param("style.css", b"\xff", "cannot be read", id="a style that is no UTF-8"),
    ],
)
def test_a_page_that_cannot_work_is_refused_at_the_start(folder, file, content, complaint):
    (folder / file).write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        Pages("/auth", str(folder))
    assert str(caught.value).startswith(f"TEMPLATES: {file} ")
    assert complaint in str(caught.value)


@pytest.mark.promise(29)
def test_the_complaint_names_what_the_page_can_use(folder):
    (folder / "error.html").write_text("$nothing", encoding="utf-8")
    expected = r"It can use \$style, \$site_name, \$site_suffix, \$icon, \$status, \$title, "
    with pytest.raises(ConfigurationError, match=expected):
        Pages("/auth", str(folder))


@pytest.mark.promise(20)
def test_an_icon_of_ones_own_is_put_into_every_page(folder):
    (folder / "icon.svg").write_text('<svg xmlns="x" class="#"/>', encoding="utf-8")
    for name in PAGES:
        icon = "data:image/svg+xml,%3Csvg%20xmlns%3D%22x%22%20class%3D%22%23%22/%3E"
        assert render(folder, name).html.link["href"] == icon


def test_a_folder_called_like_a_page_replaces_nothing(folder):
    (folder / "login.html").mkdir()
    assert "<form" in render(folder).text


def test_the_setting_names_the_folder(settings, folder):
    (folder / "login.html").write_text("<p>Ours</p>", encoding="utf-8")
    app = AuthMiddleware(echo, dataclasses.replace(settings, TEMPLATES=str(folder)))
    assert TestApp(app).get("/auth/login").text == "<p>Ours</p>"
