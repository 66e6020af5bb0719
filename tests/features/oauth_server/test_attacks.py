"""A hostile client and a hostile page: the attacks of RFC 9700, by its sections."""

from urllib.parse import urlencode, urlsplit

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import (
    AUTHORIZE,
    CALLBACK,
    CONSENT,
    ISSUER,
    VERIFIER,
    App,
    answer_in,
    challenge_of,
    code_in,
    consent_form,
    walk,
)
from tests.support.service_keys import new_key
from tests.support.sites import BROWSER, SAME_ORIGIN
from tests.support.tables import row_by_row
from wsgiauth.features.oauth_server.tables import Consent, Grant
from wsgiauth.features.services.signed_tokens import ID_TOKEN, SignedTokens
from wsgiauth.testing import logged_in

EVIL = "https://evil.example.org/callback"
OTHER_VERIFIER = "another-verifier-that-has-at-least-43-characters"

WRONG_URIS = [
    pytest.param(EVIL, id="another client's"),
    pytest.param("https://wiki.example.org.evil.example.org/callback", id="a longer host"),
    pytest.param("https://evil.example.org/https://wiki.example.org/callback", id="a path"),
    pytest.param("https://wiki.example.org@evil.example.org/callback", id="a username"),
    pytest.param("https://wiki.example.org\\@evil.example.org/callback", id="a backslash"),
    pytest.param(f"{CALLBACK}/../../open?to={EVIL}", id="dots"),
    pytest.param(f"{CALLBACK}%2f..%2fopen", id="encoded dots"),
    pytest.param(f"{CALLBACK}?to={EVIL}", id="a further query"),
    pytest.param(f"{CALLBACK}#", id="a fragment"),
    pytest.param(CALLBACK.replace("https", "http"), id="without TLS"),
    pytest.param(CALLBACK.replace("wiki", "WIKI"), id="upper case"),
    pytest.param(CALLBACK.replace(".org", ".org:443"), id="the usual port"),
    pytest.param(f" {CALLBACK}", id="a space"),
    pytest.param(f"{CALLBACK}\n{EVIL}", id="a line feed"),
    pytest.param(f"{CALLBACK}\0", id="a null"),
    pytest.param("//evil.example.org", id="no scheme"),
    pytest.param("javascript:alert(1)", id="a script"),
]


@pytest.fixture
def evil(site):
    """Return another app, which an operator has registered in good faith."""
    return App(site, "Evil", uri=EVIL)


def is_refused(answer):
    """Return whether the token endpoint has refused a grant."""
    return answer["error"] == "invalid_grant" and "access_token" not in answer


# 4.1 Insufficient redirection URI validation


@pytest.mark.promise(89)
@row_by_row("uri", WRONG_URIS)
def test_4_1_only_a_registered_uri_gets_an_answer(browser, wiki, evil, uri):
    walk(browser, wiki.url())
    for changes in ({}, {"prompt": "none"}, {"response_type": "token"}):
        for mode in ("query", "form_post"):
            url = wiki.url(redirect_uri=uri, response_mode=mode, **changes)
            page = browser.get(url, headers=BROWSER, status=400)
            assert "Location" not in page.headers
            assert "evil" not in page.html.main.prettify()


# 4.2 Credential leakage via Referer headers; 4.3 via the browser history


@pytest.mark.promise(89)
@row_by_row("mode", ["query", "form_post"])
def test_4_2_no_answer_with_a_code_is_stored_or_named_to_other_sites(browser, wiki, mode):
    walk(browser, wiki.url())
    answer = browser.get(wiki.url(response_mode=mode), headers=BROWSER)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] in ("no-referrer", "strict-origin")
    assert "code=" not in answer.request.url


@pytest.mark.promise(89)
@row_by_row("path", [AUTHORIZE, CONSENT])
def test_4_2_pages_with_a_request_are_not_named_to_other_sites(browser, wiki, path):
    answer = browser.get(wiki.url(path), headers=BROWSER)
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.promise(88)
def test_4_3_a_code_of_the_history_is_of_no_use(browser, wiki):
    code = code_in(walk(browser, wiki.url()))
    wiki.exchange(code)
    assert is_refused(wiki.exchange(code, 400))


# 4.4 Mix-up attacks


@pytest.mark.parametrize("decision", ["allow", "refuse"])
def test_4_4_each_answer_names_the_issuer(browser, wiki, decision):
    assert answer_in(walk(browser, wiki.url(), decision))["iss"] == ISSUER


def test_4_4_errors_name_the_issuer(browser, wiki):
    assert answer_in(walk(browser, wiki.url(prompt="none")))["iss"] == ISSUER


# 4.5 Authorization code injection


@pytest.mark.promise(88)
def test_4_5_a_stolen_code_does_not_fit_the_request_of_the_thief(browser, wiki, site, grace):
    stolen = code_in(walk(browser, wiki.url()))
    own_request = {"code_challenge": challenge_of(OTHER_VERIFIER)}
    walk(logged_in(site, grace), wiki.url(**own_request))
    assert is_refused(wiki.exchange(stolen, 400, code_verifier=OTHER_VERIFIER))


@pytest.mark.promise(88)
def test_4_5_a_code_that_comes_twice_ends_what_it_gave(browser, wiki):
    code = code_in(walk(browser, wiki.url()))
    tokens = wiki.exchange(code)
    assert is_refused(wiki.exchange(code, 400))
    assert is_refused(wiki.refresh(tokens["refresh_token"], 400))


@pytest.mark.promise(88)
def test_4_5_another_client_can_do_nothing_with_a_code(browser, wiki, evil):
    code = code_in(walk(browser, wiki.url()))
    assert is_refused(evil.exchange(code, 400, redirect_uri=CALLBACK))
    assert is_refused(evil.exchange(code, 400, redirect_uri=EVIL))
    assert "access_token" in wiki.exchange(code)  # nor end what it gives


@pytest.mark.promise(88)
def test_4_5_another_client_can_do_nothing_with_a_refresh_token(browser, wiki, evil):
    token = wiki.log_in(browser)["refresh_token"]
    assert is_refused(evil.refresh(token, 400))
    assert "access_token" in wiki.refresh(token)


# 4.6 Access token injection; 4.17 messages to other windows: no token is in any such answer.


@row_by_row(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "id_token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"response_mode": "web_message"}, "invalid_request"),
    ],
    ids=lambda value: "=".join(*value.items()) if isinstance(value, dict) else value,
)
def test_4_6_no_answer_of_the_browser_has_a_token(browser, wiki, changes, error):
    assert answer_in(walk(browser, wiki.url(**changes)))["error"] == error


# 4.7 Cross-site request forgery


def test_4_7_the_app_gets_its_state_unchanged(browser, wiki):
    state = "x+y%20/?&=ä\u202e'\"<script>"
    assert answer_in(walk(browser, wiki.url(state=state)))["state"] == state


@pytest.mark.promise(90)
def test_4_7_no_other_site_can_consent(browser, wiki):
    form = consent_form(browser.get(wiki.url(CONSENT), headers=BROWSER))
    fields = dict([*form.submit_fields(), ("decision", "allow")])
    for site in ("cross-site", "same-site"):
        headers = {**BROWSER, "Sec-Fetch-Site": site, "Origin": "https://evil.example.org"}
        answer = browser.post(wiki.url(CONSENT), fields, headers=headers, expect_errors=True)
        assert "Location" not in answer.headers
    assert not Consent.select().exists()


# 4.8 PKCE downgrade


@pytest.mark.promise(88)
@row_by_row(
    "changes",
    [
        pytest.param({"code_challenge": None, "code_challenge_method": None}, id="without PKCE"),
        pytest.param({"code_challenge": None}, id="without a challenge"),
        pytest.param({"code_challenge_method": None}, id="without a method"),
        pytest.param({"code_challenge_method": "plain"}, id="plain"),
    ],
)
def test_4_8_no_request_is_without_a_hashed_challenge(browser, wiki, changes):
    assert answer_in(walk(browser, wiki.url(**changes)))["error"] == "invalid_request"


@pytest.mark.promise(88)
@row_by_row(
    "verifier",
    [None, "", challenge_of(VERIFIER), VERIFIER[:-1], f"{VERIFIER}x"],
    ids=["none", "empty", "the challenge", "shorter", "longer"],
)
def test_4_8_no_code_is_exchanged_without_its_verifier(browser, wiki, verifier):
    code = code_in(walk(browser, wiki.url()))
    assert is_refused(wiki.exchange(code, 400, code_verifier=verifier))


# 4.11 Open redirection


@pytest.mark.promise(89)
def test_4_11_the_site_sends_no_browser_to_a_uri_without_its_client(browser, evil):
    for changes in ({"client_id": "0123456789abcdef0123"}, {"client_id": None}):
        page = browser.get(evil.url(prompt="none", **changes), headers=BROWSER, status=400)
        assert "evil" not in page.text


@pytest.mark.promise(89)
def test_4_11_a_login_leads_to_no_uri_that_is_not_registered(browser, site, wiki):
    anonymous = TestApp(site)
    url = wiki.url(redirect_uri=EVIL)
    page = anonymous.get("/auth/login", {"next": url}, headers=BROWSER, status=200)
    assert "evil" not in page.headers["Content-Security-Policy"]
    assert "wiki" not in page.headers["Content-Security-Policy"]


@pytest.mark.promise(89)
@row_by_row("uri", WRONG_URIS)
def test_4_11_a_logout_leads_to_no_uri_that_is_not_registered(site, browser, uri):
    App(site, "Evil", logout_redirects=[EVIL])
    app = App(site, logout_redirects=[CALLBACK])
    for client in (TestApp(site), browser):
        page = client.get(leaving(app, uri), headers=BROWSER, status=400)
        assert "evil" not in page.html.main.prettify()
        assert "evil" not in page.headers["Content-Security-Policy"]


# 4.12 Redirects with the status 307


@pytest.mark.parametrize("decision", ["allow", "refuse"])
def test_4_12_no_redirect_sends_the_form_to_the_app(browser, wiki, decision):
    form = consent_form(browser.get(wiki.url(CONSENT), headers=BROWSER))
    form.submit("decision", value=decision, headers=SAME_ORIGIN, status=303)


# 4.13 Proxies that add headers


@row_by_row(
    "headers",
    [
        {"Host": "evil.example.org"},
        {"X-Forwarded-Host": "evil.example.org", "Forwarded": "host=evil.example.org"},
    ],
    ids=["Host", "forwarded"],
)
def test_4_13_the_issuer_comes_from_no_header(site, wiki, headers):
    answer = TestApp(site).get(wiki.url(prompt="none"), headers={**BROWSER, **headers}, status=303)
    assert answer.location.startswith(f"{CALLBACK}?")
    assert answer_in(answer.location)["iss"] == ISSUER


# 4.16 Clickjacking


@pytest.mark.promise(90)
def test_4_16_nothing_on_the_way_can_be_framed(browser, wiki):
    urls = [
        wiki.url(path, response_mode=mode)
        for path in (AUTHORIZE, CONSENT)
        for mode in ("query", "form_post")
    ]
    before = [browser.get(url, headers=BROWSER) for url in urls]
    walk(browser, wiki.url())
    for answer in (*before, *(browser.get(url, headers=BROWSER) for url in urls)):
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"].split("; ")


# Beyond RFC 9700: logouts (OpenID Connect RP-Initiated Logout 1.0)


def leaving(app, uri=CALLBACK, **changes):
    """Return the URL of a logout that leads to a URI."""
    asked = {"client_id": app.id, "post_logout_redirect_uri": uri, **changes}
    return f"/auth/oauth/logout?{urlencode(asked)}"


def is_logged_in(browser):
    """Return whether a browser has a session."""
    return browser.get("/auth/me", expect_errors=True).status_int == 200


def of_another_app(site, app, browser, grace):
    return App(site, "Evil", uri=EVIL).log_in(browser)["id_token"]


def of_another_user(site, app, browser, grace):
    return app.log_in(logged_in(site, grace))["id_token"]


def an_access_token(site, app, browser, grace):
    return app.log_in(browser)["access_token"]


def of_another_issuer(site, app, browser, grace):
    claims = {**claims_of(app.log_in(browser)), "iss": "https://evil.example.org"}
    return site.site.require(SignedTokens).sign(claims, kind=ID_TOKEN)


def of_another_key(site, app, browser, grace):
    tokens = app.log_in(browser)
    headers = jwt.get_unverified_header(tokens["id_token"])
    return jwt.encode(claims_of(tokens), new_key(), "ES256", headers)


def without_a_signature(site, app, browser, grace):
    return jwt.encode(claims_of(app.log_in(browser)), None, "none")


def of_another_session(site, app, browser, grace):
    claims = {**claims_of(app.log_in(browser)), "sid": "another-session"}
    return site.site.require(SignedTokens).sign(claims, kind=ID_TOKEN)


def claims_of(tokens):
    """Return the claims of an ID token."""
    return jwt.decode(tokens["id_token"], options={"verify_signature": False})


@pytest.mark.promise(92)
@row_by_row(
    "hint",
    [
        of_another_app,
        of_another_user,
        an_access_token,
        of_another_issuer,
        of_another_key,
        without_a_signature,
        of_another_session,
    ],
)
def test_only_an_id_token_of_the_session_and_the_app_logs_out(site, browser, grace, hint):
    app = App(site, logout_redirects=[CALLBACK])
    sent = hint(site, app, browser, grace)
    for changes in ({}, {"client_id": ""}):
        address = leaving(app, id_token_hint=sent, **changes)
        page = browser.get(address, headers=BROWSER, status="*")
        assert page.status_int == (200 if hint in (of_another_user, of_another_session) else 400)
        assert is_logged_in(browser)
        post = urlsplit(address)
        browser.post(post.path, post.query, headers=BROWSER, status=303)
        assert is_logged_in(browser)


@pytest.mark.promise(17)
@row_by_row("origin", ["cross-site", "same-site"])
def test_no_page_of_another_site_logs_out(site, browser, origin):
    app = App(site, logout_redirects=[CALLBACK])
    question = browser.get(leaving(app), headers=BROWSER)
    form = next(each for each in question.forms.values() if each.action.startswith("/auth/logout"))
    headers = {**BROWSER, "Sec-Fetch-Site": origin, "Origin": EVIL}
    browser.post(form.action, form.submit_fields(), headers=headers, status=403)
    browser.post("/auth/oauth/logout", form.submit_fields(), headers=headers, status=303)
    assert is_logged_in(browser)


@pytest.mark.promise(89)
def test_a_logout_with_two_uris_or_clients_leads_nowhere(site, evil):
    app = App(site, logout_redirects=[CALLBACK])
    further = {"client_id": evil.id, "post_logout_redirect_uri": EVIL, "state": "x"}
    usual = leaving(app, state="y")
    anonymous = TestApp(site)
    for name in ("client_id", "post_logout_redirect_uri", "state"):
        anonymous.get(f"{usual}&{urlencode({name: further[name]})}", headers=BROWSER, status=400)
    assert anonymous.get(usual, headers=BROWSER, status=303).location == f"{CALLBACK}?state=y"


# Beyond RFC 9700: what a client writes is text on our pages, and its request is of no one else.


@pytest.mark.promise(90)
def test_names_of_apps_are_text(browser, site):
    name = '<b>Wiki</b> "asks"'
    page = browser.get(App(site, name).url(CONSENT), headers=BROWSER)
    assert page.html.main.find("b") is None
    assert page.html.h1.text == f"Log in to {name}"


@pytest.mark.promise(90)
def test_a_request_cannot_fill_in_the_decision(browser, wiki):
    url = f"{wiki.url(CONSENT)}&decision=allow&account=1&scope_shown=openid"
    page = browser.get(url, headers=BROWSER, status=200)
    consent_form(page)
    browser.post(url, headers=SAME_ORIGIN, status="4*")
    assert not Consent.select().exists()
    assert not Grant.select().exists()


@row_by_row("parameter", ["state", "nonce", "login_hint"])
def test_parameters_are_no_part_of_a_header_or_of_markup(browser, wiki, parameter):
    value = "<script>\r\nSet-Cookie: a=b"
    answer = browser.get(wiki.url(**{parameter: value}), headers=BROWSER, status=303)
    assert "\r" not in answer.location
    assert "Set-Cookie" not in answer.headers
    page = browser.get(wiki.url(**{parameter: value}, response_mode="form_post"), headers=BROWSER)
    assert "<script>\r" not in page.text


def test_the_state_is_of_one_answer(browser, wiki):
    assert "state" not in answer_in(walk(browser, f"{wiki.url()}&state=other"))
