"""What is answered: JSON, problems, redirects and pages."""

from http import HTTPStatus
from types import SimpleNamespace

import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, SAME_ORIGIN
from tests.support.tables import row_by_row
from tests.web.pages import PAGES, REQUEST
from wsgiauth.app import ROUTES
from wsgiauth.feature import headlines_of
from wsgiauth.features.registry import FEATURES
from wsgiauth.web.failures import HEADLINES, failure
from wsgiauth.web.pages import Pages
from wsgiauth.web.responses import Response, json_response, problem, redirect
from wsgiauth.web.urls import PATHS_ALONE

COMMON = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


def shown(response, method="GET"):
    return TestApp(response).request("/", method=method, expect_errors=True)


def header_of(answer, name):
    (value,) = answer.headers.getall(name)
    return value


def environ_of(accept, root=""):
    return {
        "HTTP_ACCEPT": accept,
        "wsgiauth.root": root,
        "wsgiauth.site": SimpleNamespace(pages=Pages("/accounts"), destinations=PATHS_ALONE),
        "REQUEST_METHOD": "GET",
    }


def all_responses():
    """Return an example of each kind of response, and a response with each page, by names."""
    pages = Pages("/auth")
    return {
        "nothing": Response(HTTPStatus.OK),
        "JSON": json_response({}),
        "problem": problem(HTTPStatus.CONFLICT, "taken", "Taken."),
        "redirect": redirect(HTTPStatus.SEE_OTHER, "/"),
        **{name: pages.render(REQUEST, page) for name, page in PAGES.items()},
    }


@pytest.mark.promise(20)
def test_every_answer_has_the_common_headers_once():
    for kind, response in all_responses().items():
        answer = shown(response)
        assert {name: header_of(answer, name) for name in COMMON} == COMMON, kind


@pytest.mark.promise(20)
def test_every_answer_has_one_policy_which_pages_alone_loosen():
    for kind, response in all_responses().items():
        policy = header_of(shown(response), "Content-Security-Policy")
        assert policy.startswith("default-src 'none'; "), kind
        assert policy.endswith("; frame-ancestors 'none'"), kind
        assert kind in PAGES or policy == "default-src 'none'; frame-ancestors 'none'", kind


def test_head_is_answered_like_get_without_the_body():
    for kind, response in all_responses().items():
        head, get = shown(response, "HEAD"), shown(response)
        assert (head.status, head.headers) == (get.status, get.headers), kind
        assert head.body == b"", kind
        assert int(get.headers["Content-Length"]) == len(get.body), kind


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


@row_by_row(("status", "name"), [(413, "Content Too Large"), (422, "Unprocessable Content")])
def test_the_names_of_statuses_do_not_depend_on_the_version_of_python(status, name):
    answer = shown(problem(HTTPStatus(status), "code", "Detail."))
    assert answer.status == f"{status} {name}"
    assert answer.json["title"] == name


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
def test_a_forged_host_leads_nowhere(client):
    for host in ("evil.example", "evil.example:8080", "127.0.0.1:1", "[::1]:1"):
        headers = {**SAME_ORIGIN, "Host": host, "X-Forwarded-Host": host}
        for query, location in {
            "": "/auth/login?done=logout",
            "?next=/reports": "/reports",
        }.items():
            answer = client.get(f"/auth/logout{query}", headers=headers, status=303)
            assert answer.headers["Location"] == location


def test_a_failure_is_a_problem_for_a_program():
    expected = problem(HTTPStatus.FORBIDDEN, "forbidden", "No.", headers=(("Allow", ""),))
    for accept in ("", "*/*", "application/json"):
        given = (environ_of(accept), HTTPStatus.FORBIDDEN, "forbidden", "No.")
        assert failure(*given, headers=(("Allow", ""),)) == expected


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


@row_by_row(
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


def test_a_page_of_failure_links_to_the_pages_that_help():
    environ = environ_of(BROWSER["Accept"], root="/caf\xc3\xa9")
    pages = {"forgot": "Ask for a new link", "register": "Create an account"}
    failed = failure(environ, HTTPStatus.GONE, "link_expired", "No.", pages=pages)
    links = shown(failed).html.find_all("a", hidden=False)
    assert [(link["href"], link.text) for link in links] == [
        ("/caf%C3%A9/accounts/forgot", "Ask for a new link"),
        ("/caf%C3%A9/accounts/register", "Create an account"),
        ("/caf%C3%A9/", "Go to the home page"),
    ]


def codes_of(schema):
    return schema.get("enum") or [schema["const"]]


def test_every_failure_has_a_headline_for_people():
    schemas = ROUTES["/openapi.json"].document["components"]["schemas"]
    codes = {
        code
        for name, each in schemas.items()
        if name != "Problem" and name.endswith("Problem")
        for code in codes_of(each["allOf"][1]["properties"]["code"])
    }
    about_fields = {"invalid", "taken", "invalid_credentials"}  # told on the form itself
    assert codes - about_fields <= HEADLINES.keys() | headlines_of(FEATURES).keys()
    phrases = {status.phrase for status in HTTPStatus}
    assert phrases.isdisjoint((*HEADLINES.values(), *headlines_of(FEATURES).values()))


def test_each_code_has_one_headline():
    codes = [*HEADLINES, *(code for each in FEATURES for code in each.headlines)]
    assert len(codes) == len({*codes})
