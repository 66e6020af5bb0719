"""What holds for everything under /auth: routes, methods, bodies, headers and pages."""

import dataclasses
import json
import re

import peewee
import pytest
from webtest import TestApp

from tests.support.mails import Post, with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.testing import api_key, logged_in

FIELDS = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
COMMON_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
PATHS = ["/auth/register", "/auth/login", "/auth/logout", "/auth/me"]
POST_PATHS = ["/auth/register", "/auth/login"]
HOSTILE = "\"><script>alert('x')</script>&amp;${next}$$"


# Routes and methods.


def test_an_unknown_address_is_not_found(client):
    detail = "Check the address. The content may have been deleted."
    client.get("/auth/nowhere", headers=BROWSER, status=404).mustcontain(detail)
    assert client.get("/auth/nowhere", status=404).json == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": detail,
        "code": "not_found",
    }


# Around the errors on pages.


def links(answer):
    """Return the texts of the links and buttons on the page of an error."""
    return [link.text for link in answer.html.find_all("a")]


FAILURES = [
    ("GET", "/auth/nowhere", b"", 404),  # no such page
    ("GET", "/auth/account/nowhere", b"", 404),  # no such page below one
    ("PUT", "/auth/account", b"", 405),  # another method
    ("POST", "/auth/password", b"x" * 20000, 413),  # too large
]


def test_an_error_page_leads_a_user_back_to_the_account(site, ada):
    browser = logged_in(site, ada)
    for method, path, body, status in FAILURES:
        options = {"method": method, "body": body, "headers": {**SAME_ORIGIN, **FORM}}
        refused = browser.request(path, status=status, **options)
        assert links(refused) == ["Your account", "Home page", "Back to your account"], path
        assert refused.html.main.a["href"] == "/auth/account"


LOGIN_PAGE = "http://localhost:80/auth/login?next=/reports"


REFERERS = [
    (LOGIN_PAGE, "/auth/login?next=/reports"),  # its page
    ("http://localhost:80/", None),  # a page whose address is secret
    ("http://localhost:80/reports", None),  # a page of the application
    ("http://evil.example/auth/login", None),  # another site
    (None, "/auth/login"),  # a browser without Referer
]


def test_the_page_of_a_form_that_is_too_long_leads_back_to_it(client):
    for referer, first in REFERERS:
        headers = {**SAME_ORIGIN, **FORM} | ({"Referer": referer} if referer else {})
        refused = client.post("/auth/login", b"x" * 20000, headers=headers, status=413)
        link = refused.html.main.a
        assert (link.text, link["href"]) == (
            ("Back to the form", first) if first else ("Go to the home page", "/")
        )


def test_the_page_of_a_form_without_the_database_leads_back_to_it(client, ada, database):
    database.execute_sql("ALTER TABLE wsgiauth_user RENAME TO away")
    headers = {**SAME_ORIGIN, "Referer": LOGIN_PAGE}
    fields = {"username": USERNAME, "password": PASSWORD}
    refused = client.post("/auth/login", fields, headers=headers, status=503)
    database.execute_sql("ALTER TABLE away RENAME TO wsgiauth_user")
    assert refused.html.main.a["href"] == "/auth/login?next=/reports"


SENT_AGAIN = [
    pytest.param("/auth/username", {"username": "Grace <b>"}, id="a name"),
    pytest.param("/auth/keys", {"name": "Backup", "permissions": ["a.b", "c.d"]}, id="a list"),
    pytest.param("/auth/password", {"current_password": "", "end_keys": "on"}, id="a flag"),
    pytest.param("/auth/username", {"username": "Grace", "next": "/reports"}, id="next"),
]


def sent_without_database(site, user, monkeypatch, path, fields):
    """Send the form of a user; return it as the page of the error has it, or None."""

    def fail(*arguments, **options):
        raise peewee.OperationalError("away")

    visitor = logged_in(site, user)
    monkeypatch.setattr("wsgiauth.authentication.sessions.Sessions.find", fail)
    refused = visitor.post(path, fields, headers=SAME_ORIGIN, status=503)
    monkeypatch.undo()
    return next((each for each in refused.forms.values() if each.action == path), None)


@pytest.mark.promise(28)
@pytest.mark.parametrize(("path", "fields"), SENT_AGAIN)
def test_a_form_without_the_database_can_be_sent_again(site, ada, monkeypatch, path, fields):
    sent = {**fields, "once": "abc", "account": "def", "other": "not of the form"}
    form = sent_without_database(site, ada, monkeypatch, path, sent)
    expected = {name: value for name, value in sent.items() if value and name != "other"}
    kept = {name: [each.value for each in inputs] for name, inputs in form.fields.items() if name}
    assert kept == {
        name: value if isinstance(value, list) else [value] for name, value in expected.items()
    }


NOT_SENT_AGAIN = [
    pytest.param("/auth/password", {"current_password": "x"}, id="a password"),
    pytest.param("/auth/confirm", {"provider": "example"}, id="to a provider"),
    pytest.param(
        "/auth/username", {"username": "Grace", "next": "/auth/authorize?x"}, id="to an app"
    ),
]


@pytest.mark.promise(28)
@pytest.mark.parametrize(("path", "fields"), NOT_SENT_AGAIN)
def test_a_form_with_a_secret_is_not_on_the_page_of_an_error(site, ada, monkeypatch, path, fields):
    assert sent_without_database(site, ada, monkeypatch, path, fields) is None


def test_a_script_leads_back_to_a_form_that_has_no_link(site, ada, client):
    headers = {**SAME_ORIGIN, **FORM, "Referer": "http://localhost:80/"}
    refused = client.post("/auth/login", b"x" * 20000, headers=headers, status=413)
    (button,) = refused.html.main.select("button[data-back][hidden]")
    assert button.text == "Back to the form"
    headers["Referer"] = LOGIN_PAGE
    refused = client.post("/auth/login", b"x" * 20000, headers=headers, status=413)
    assert [each.name for each in refused.html.main.select("[data-back]")] == ["a"]


def test_the_form_of_a_secret_address_is_not_linked_without_its_secret(settings):
    site = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    headers = {**SAME_ORIGIN, **FORM}
    refused = TestApp(site).post("/auth/verify", b"x" * 20000, headers=headers, status=413)
    assert refused.html.main.a["href"] == "/"
    site.site.outbox.stop()
    storage.discard_connection(site.database)


def test_an_error_page_leads_all_others_to_the_home_page(site, ada, client):
    foreign = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    for refused in (
        client.get("/auth/nowhere", headers=BROWSER, status=404),
        client.get("/auth/nowhere", headers=BROWSER | api_key(site, ada), status=404),
        logged_in(site, ada).post("/auth/password", {"x": ""}, headers=foreign, status=403),
    ):
        assert links(refused) == ["Go to the home page"]


@pytest.mark.promise(28)
def test_an_error_page_needs_no_database(site, ada, monkeypatch):
    def fail(*arguments, **options):
        raise peewee.OperationalError("away")

    visitor = logged_in(site, ada)
    monkeypatch.setattr("wsgiauth.authentication.sessions.Sessions.find", fail)
    assert links(visitor.get("/auth/nowhere", headers=BROWSER, status=404)) == [
        "Go to the home page"
    ]
    refused = visitor.get("/auth/account?a=b", headers=BROWSER, status=503)
    assert links(refused) == ["Try again", "Go to the home page"]
    assert refused.html.main.a["href"] == "/auth/account?a=b"
    assert "database" not in refused.html.main.text


def test_the_mount_leads_to_the_account(site):
    for prefix in ("", "/site"):
        client = TestApp(site, extra_environ={"SCRIPT_NAME": prefix})
        for path in ("/auth", "/auth/"):
            for ask in (client.get, client.head):
                moved = ask(path, status=303)
                assert moved.headers["Location"] == f"{prefix}/auth/account"
            client.post(path, status=404)


ALLOWED = [
    ("/auth/register", "PUT", "HEAD, GET, POST"),
    ("/auth/login", "DELETE", "HEAD, GET, POST"),
    ("/auth/logout", "PATCH", "HEAD, GET, POST"),
    ("/auth/login", "OPTIONS", "HEAD, GET, POST"),
    ("/auth/me", "POST", "HEAD, GET"),
    ("/auth/me", "TRACE", "HEAD, GET"),
]


def test_another_method_is_told_which_are_allowed(client):
    for path, method, allowed in ALLOWED:
        refused = client.request(path, method=method, status=405)
        assert (refused.headers["Allow"], refused.json["code"]) == (allowed, "method_not_allowed")


def test_head_is_get_without_the_body(client):
    for path in ("/auth/register", "/auth/login", "/auth/me", "/auth/nowhere"):
        for headers in ({}, BROWSER):
            get = client.get(path, headers=headers, status="*")
            head = client.head(path, headers=headers, status="*")
            assert (head.status, head.headerlist, head.body) == (get.status, get.headerlist, b"")


def test_where_registration_is_off_nobody_registers(settings):
    client = TestApp(AuthMiddleware(echo, dataclasses.replace(settings, REGISTRATION=False)))
    client.get("/auth/register", status=404)
    client.post_json("/auth/register", FIELDS, status=404)
    client.post("/auth/register", FIELDS, headers=SAME_ORIGIN, status=404)
    client.get("/auth/login").mustcontain(no="Create an account")


# Headers of every answer.


REQUESTS = [
    ("GET", "/auth/register", {}),
    ("GET", "/auth/login", {}),
    ("GET", "/auth/logout", {}),
    ("GET", "/auth/logout", BROWSER),
    ("GET", "/auth/me", {}),
    ("GET", "/auth/me", BROWSER),
    ("GET", "/auth/nowhere", {}),
    ("PUT", "/auth/login", {}),
    ("POST", "/auth/login", JSON),
    ("POST", "/auth/register", JSON),
    ("POST", "/auth/login", {**FORM, **SAME_ORIGIN}),
    ("POST", "/auth/register", {**FORM, **SAME_ORIGIN}),
]


@pytest.mark.promise(20)
def test_no_answer_is_stored_sniffed_or_told_to_other_sites(client):
    for method, path, headers in REQUESTS:
        answer = client.request(path, method=method, headers=headers, status="*")
        assert COMMON_HEADERS.items() <= dict(answer.headers).items(), (method, path)
        (policy,) = answer.headers.getall("Content-Security-Policy")
        assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))


DIRECTIVES = {
    *("default-src", "script-src", "style-src", "img-src", "font-src", "form-action", "base-uri"),
    "frame-ancestors",
}


@pytest.mark.promise(20)
def test_no_page_runs_scripts_of_others_or_is_framed(client):
    for path in ("/auth/register", "/auth/login", "/auth/me", "/auth/nowhere"):
        page = client.get(path, headers=BROWSER, status="*")
        header = page.headers["Content-Security-Policy"]
        policy = dict(part.split(" ", 1) for part in header.split("; "))
        assert page.content_type == "text/html"
        assert policy.keys() == DIRECTIVES
        closed = {policy[name] for name in ("default-src", "base-uri", "frame-ancestors")}
        assert (closed, policy["form-action"]) == ({"'none'"}, "'self'")
        assert re.fullmatch("'sha256-[^ ]+'", policy["script-src"])
        assert "unsafe" not in header
        assert "<script>alert" not in page.text


# Bodies.


OTHER_TYPES = [
    "",
    "text/plain",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "text/json",
    "json",
]


@pytest.mark.promise(19)
def test_another_media_type_is_unsupported(client):
    body = json.dumps(FIELDS).encode()
    for content_type in OTHER_TYPES:
        for path in POST_PATHS:
            refused = client.post(path, body, headers={"Content-Type": content_type}, status=415)
            assert refused.json["code"] == "unsupported_media_type"


@pytest.mark.promise(19)
def test_another_charset_is_malformed(client):
    for media_type in (JSON, FORM):
        headers = {"Content-Type": media_type["Content-Type"] + "; charset=latin-1"}
        for path in POST_PATHS:
            refused = client.post(path, b"{}", headers=headers, status=400)
            assert refused.json["code"] == "malformed"


@pytest.mark.promise(19)
def test_a_media_type_is_read_in_any_letter_case(client, ada):
    body = json.dumps(FIELDS).encode()
    for content_type in ("application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'):
        client.post("/auth/login", body, headers={"Content-Type": content_type}, status=200)


MALFORMED_JSON = [
    b"",  # empty
    b"{",  # broken off
    b"[]",  # list
    b'"text"',  # text
    b"null",  # null
    b"{} {}",  # two
    b'{"username": "\xff"}',  # not UTF-8
    '{"username": "x"}'.encode("utf-16"),  # UTF-16
    b'{"username": "\\ud800"}',  # lone surrogate
    b'{"\\udfff": ""}',  # lone surrogate as a name
    b'{"x": NaN}',  # NaN
    b'{"x": -Infinity}',  # infinity
    b'{"x": 1e999}',  # huge float
    b'{"x": ' + b"9" * 5000 + b"}",  # huge integer
    b"[" * 16_000,  # deep nesting
    b'{"x":' * 2700 + b"1" + b"}" * 2700,  # deep objects
    b'{"username": "a", "username": "b"}',  # a field twice
]


@pytest.mark.promise(19)
def test_malformed_json_is_refused(client):
    for body in MALFORMED_JSON:
        for path in POST_PATHS:
            refused = client.post(path, body, headers=JSON, status="*")
            assert (refused.status_int, refused.json["code"]) == (400, "malformed"), body[:99]


MALFORMED_FORMS = [
    b"username=%FF",  # not UTF-8
    b"username=\xc3\xab",  # not encoded
    b"username=%ED%A0%80",  # surrogate
    b"username=a&username=b",  # a field twice
    b"&".join(b"f%d=" % number for number in range(21)),  # too many fields
]


@pytest.mark.promise(19)
def test_a_malformed_form_is_refused(client):
    for body in MALFORMED_FORMS:
        for path in POST_PATHS:
            refused = client.post(path, body, headers={**FORM, **SAME_ORIGIN}, status="*")
            assert refused.status_int == 400, body
            refused.mustcontain("The form could not be read", "Go back, and send the form again.")


def test_a_page_that_cannot_be_used_in_this_way_says_so_for_people(client):
    headers = {**SAME_ORIGIN, **BROWSER}
    refused = client.put("/auth/login", "", headers=headers, status=405)
    refused.mustcontain("This page cannot be used in this way", no="HEAD, ")


@pytest.mark.promise(15)
def test_a_body_of_16_kib_is_read_and_one_of_more_is_not(client):
    for headers, start, end in ((JSON, b'{"x": "', b'"}'), (FORM, b"x=", b"")):
        fitting = start + b"x" * (16 * 1024 - len(start + end)) + end
        for path in POST_PATHS:
            client.post(path, fitting, headers=headers, status=422)
            refused = client.post(path, fitting + b" ", headers=headers, status=413)
            assert refused.json["code"] == "too_large"


def with_length(site, length):
    """Return a site that is told another length of the body."""
    return lambda environ, start_response: site(
        {**environ, "CONTENT_LENGTH": length}, start_response
    )


LENGTHS = [
    ("3", 400),  # longer than the body
    ("-1", 400),  # negative
    ("two", 400),  # not a number
    ("\xb2", 400),  # not an ASCII digit
    (str(16 * 1024 + 1), 413),  # too long
    ("9" * 5000, 413),  # far too long
    ("", 411),  # missing
]


@pytest.mark.promise(15)
def test_a_length_that_lies_is_refused(site):
    for length, status in LENGTHS:
        client = TestApp(with_length(site, length), lint=False)
        for path in POST_PATHS:
            for headers in (JSON, FORM):
                answer = client.post(path, b"{}", headers=headers, status="*")
                assert (length, answer.status_int) == (length, status)


# Forms from elsewhere, and where they lead.


FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},  # another site
    {"Sec-Fetch-Site": "same-site"},  # a neighbouring host
    {"Origin": "https://evil.example"},  # another origin
    {"Origin": "null"},  # no origin
]


@pytest.mark.promise(17)
def test_a_form_of_another_site_is_refused(client):
    for headers in FOREIGN:
        for path in POST_PATHS:
            refused = client.post(path, FIELDS, headers=headers, status=403)
            assert refused.json["code"] == "cross_origin"
            assert "Set-Cookie" not in refused.headers
    assert not User.select().exists()


OWN = [
    {},  # no browser
    {"Sec-Fetch-Site": "same-origin"},  # same origin
    {"Sec-Fetch-Site": "none"},  # the person's own act
    {"Origin": "http://localhost:80"},  # Origin is Host
]


@pytest.mark.promise(17)
def test_a_form_of_this_site_is_taken(site):
    for number, headers in enumerate(OWN):
        client, name = TestApp(site), f"ada{number}"
        fields = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
        client.post("/auth/register", fields, headers=headers, status=303)
        client.post("/auth/login", fields, headers=headers, status=303)


@pytest.mark.promise(17)
def test_a_form_of_a_trusted_origin_is_taken(settings):
    trusting = dataclasses.replace(settings, TRUSTED_ORIGINS=("https://app.example.org",))
    client = TestApp(AuthMiddleware(echo, trusting))
    headers = {"Origin": "https://app.example.org", "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/register", FIELDS, headers=headers, status=303)
    client.post("/auth/login", FIELDS, headers=headers, status=303)


DESTINATIONS = [
    ("/a?b=//c", "/a?b=//c"),  # two slashes in the query
    ("//evil.example", "/"),  # another host
    ("/a\r\nSet-Cookie: a=b", "/"),  # end of a header
]


@pytest.mark.promise(18)
def test_a_login_leads_nowhere_but_to_a_path_of_this_site(client, ada):
    headers = {**SAME_ORIGIN, "Host": "evil.example"}
    for wanted, location in DESTINATIONS:
        fields = {**FIELDS, "next": wanted}
        answer = client.post("/auth/login", fields, headers=headers, status=303)
        assert answer.headers["Location"] == location


@pytest.mark.promise(18)
def test_a_page_carries_no_unsafe_next(client):
    for path in POST_PATHS:
        for query in ("next=//evil.example", "next=%FF", "next=/" + "x" * 9000, "a&" * 30):
            assert client.get(f"{path}?{query}", status=200).form["next"].value == ""


@pytest.mark.promise(18)
def test_a_forged_host_appears_in_no_answer(client, ada):
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    for path in [*PATHS, "/auth/nowhere"]:
        for accept in ({}, BROWSER):
            answer = client.get(path, headers={**headers, **accept}, expect_errors=True)
            assert "evil.example" not in f"{answer.headers}{answer.text}"
    registered = client.post_json(
        "/auth/register",
        {**FIELDS, "username": "Bob", "email": "bob@example.org"},
        headers=headers,
    )
    assert registered.headers["Location"] == "/auth/me"


# Pages.


@pytest.mark.promise(20)
def test_what_was_typed_is_escaped_where_it_is_shown_again(client):
    fields = {"username": HOSTILE, "email": HOSTILE, "password": "", "next": f"/{HOSTILE}"}
    for path in POST_PATHS:
        shown = client.post(path, fields, headers=SAME_ORIGIN, expect_errors=True)
        assert (shown.form["username"].value, shown.form["next"].value) == (HOSTILE, f"/{HOSTILE}")
        assert "<script>alert" not in shown.text


@pytest.mark.promise(20)
def test_the_next_of_the_address_is_escaped(client):
    for path in POST_PATHS:
        shown = client.get(path, {"next": f"/{HOSTILE}"})
        assert shown.form["next"].value == f"/{HOSTILE}"
        assert "<script>alert" not in shown.text


@pytest.mark.promise(20)
def test_the_path_of_the_site_is_escaped(client):
    prefix = {"SCRIPT_NAME": '/"><script>'}
    for path in ("/auth/login", "/auth/register", "/auth/me"):
        page = client.get(path, headers=BROWSER, extra_environ=prefix, expect_errors=True)
        assert "<script>alert" not in page.text


def test_an_account_deactivated_as_it_registers_is_led_to_the_login_page(client):
    storage.current().execute_sql(
        "CREATE TRIGGER deactivate AFTER INSERT ON wsgiauth_user"
        " BEGIN UPDATE wsgiauth_user SET is_active = 0; END"
    )
    answer = client.post("/auth/register", FIELDS, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/login"
    assert "Set-Cookie" not in answer.headers
    grace = {**FIELDS, "username": "Grace", "email": "grace@example.org"}
    answer = client.post(
        "/auth/register", grace, headers={"Accept": "application/json"}, status=201
    )
    assert "Set-Cookie" not in answer.headers


def test_failures_are_problem_details(client):
    for failure in (
        client.get("/auth/me", status=401),
        client.get("/auth/nowhere", status=404),
        client.put("/auth/me", status=405),
        client.post_json("/auth/login", [], status=400),
        client.post_json("/auth/login", FIELDS, status=401),
        client.post_json("/auth/register", {}, status=422),
    ):
        assert failure.content_type == "application/problem+json"
        assert failure.json.keys() >= {"type", "title", "status", "detail", "code"}
        assert f"{failure.json['status']} {failure.json['title']}" == failure.status
