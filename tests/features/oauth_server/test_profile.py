"""The certification profiles "Basic OP" and "RP-Initiated OP" of the OpenID Foundation, as tests.

Each function is a module of `oidcc-basic-certification-test-plan` or, at the end, of
`oidcc-rp-initiated-logout-certification-test-plan`: it has the name of the module, says what this
site does, and checks it. The first profile asks for no PKCE, and this site does, so each
request here has a challenge.
"""

import hashlib
from base64 import urlsafe_b64encode

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import (
    AUTHORIZE,
    CALLBACK,
    NONCE,
    STATE,
    TOKEN,
    USERINFO,
    VERIFIER,
    App,
    answer_in,
    code_in,
    walk,
)
from tests.support.sites import BROWSER, EMAIL, PASSWORD, USERNAME

MODULES = []
BYE = "https://wiki.example.org/bye"

CODE_LIFETIME_OF_PROFILE = 30  # seconds after which a code is used again


def module(check):
    """Add a module to the table."""
    MODULES.append(check)
    return check


def name_of(check):
    """Return the name of a module in the plan."""
    return f"oidcc-{check.__name__.replace('_', '-')}"


class Profile:
    """An app and a user's browser, and what the profile does with them."""

    def __init__(self, site, app, browser, clock):
        self.site, self.app, self.browser, self.clock = site, app, browser, clock
        self.program = TestApp(site)

    def log_in(self, **request):
        """Log in to the app, and return the tokens."""
        return self.app.log_in(self.browser, **request)

    def log_in_again(self, **request):
        """Log in to the app with a new proof for which the site asks; return the tokens."""
        page = self.browser.get(self.app.url(**request), headers=BROWSER).follow(headers=BROWSER)
        (form,) = (each for each in page.forms.values() if "password" in each.fields)
        form["password"] = PASSWORD
        answer = form.submit(headers=BROWSER)
        return self.app.exchange(code_in(walk(self.browser, answer.location)))

    def refusal(self, **request):
        """Return the error with which a request comes back to the app."""
        return answer_in(walk(self.browser, self.app.url(**request)))["error"]

    def claims(self, tokens):
        """Return the claims of the ID token, whose signature, issuer and audience are right."""
        token = tokens["id_token"]
        keys = jwt.PyJWKSet.from_dict(self.program.get("/auth/jwks.json").json)
        header = jwt.get_unverified_header(token)
        return jwt.decode(
            token,
            keys[header["kid"]],
            [header["alg"]],
            audience=self.app.id,
            issuer=self.metadata["issuer"],
            options={"verify_exp": False, "verify_iat": False},  # by the clock of the tests
        )

    def userinfo(self, tokens, status=200):
        return self.program.get(USERINFO, headers=bearer(tokens), status=status).json

    @property
    def metadata(self):
        return self.program.get("/.well-known/openid-configuration").json


@pytest.fixture
def profile(site, wiki, browser, clock):
    return Profile(site, wiki, browser, clock)


def bearer(tokens):
    return {"Authorization": f"Bearer {tokens['access_token']}"}


@module
def server(profile):
    """A login gives tokens that no cache keeps, and an ID token with the claims of the standard."""
    code = code_in(walk(profile.browser, profile.app.url()))
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    answer = profile.app.program.post(TOKEN, {**form, "redirect_uri": CALLBACK})
    assert answer.headers["Cache-Control"] == "no-store"
    tokens = answer.json
    assert tokens["token_type"] == "Bearer"
    claims = profile.claims(tokens)
    assert claims["sub"] == profile.userinfo(tokens)["sub"]
    assert claims["nonce"] == NONCE
    assert claims["iat"] == profile.clock() < claims["exp"]
    digest = hashlib.sha256(tokens["access_token"].encode()).digest()
    assert claims["at_hash"] == urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()


@module
def response_type_missing(profile):
    """A request without `response_type` is refused."""
    assert profile.refusal(response_type=None) == "unsupported_response_type"


@module
def userinfo_get(profile):
    """Userinfo answers a GET with the token in the header."""
    tokens = profile.log_in()
    answer = profile.program.get(USERINFO, headers=bearer(tokens))
    assert (answer.content_type, answer.json["email"]) == ("application/json", EMAIL)


@module
def userinfo_post_header(profile):
    """Userinfo answers a POST with the token in the header."""
    tokens = profile.log_in()
    assert profile.program.post(USERINFO, headers=bearer(tokens)).json["email"] == EMAIL


@module
def userinfo_post_body(profile):
    """Userinfo answers a POST with the token in the form."""
    form = {"access_token": profile.log_in()["access_token"]}
    assert profile.program.post(USERINFO, form).json["email"] == EMAIL


@module
def ensure_request_without_nonce_succeeds_for_code_flow(profile):
    """A request needs no nonce; the ID token then has none."""
    assert "nonce" not in profile.claims(profile.log_in(nonce=None))


@module
def scope_profile(profile):
    """The scope `profile` gives the name, which is the username. The ID token has it, too."""
    tokens = profile.log_in(scope="openid profile")
    expected = {"name": USERNAME, "preferred_username": USERNAME}
    assert profile.userinfo(tokens).items() >= expected.items()
    assert profile.claims(tokens).items() >= expected.items()
    assert "email" not in profile.userinfo(tokens)


@module
def scope_email(profile):
    """The scope `email` gives the email address. The ID token has it, too."""
    tokens = profile.log_in(scope="openid email")
    expected = {"email": EMAIL, "email_verified": False}
    assert profile.userinfo(tokens).items() >= expected.items()
    assert profile.claims(tokens).items() >= expected.items()
    assert "name" not in profile.userinfo(tokens)


@module
def scope_address(profile):
    """Differs: the site knows no addresses, so it leaves the scope out."""
    assert profile.log_in(scope="openid address")["scope"] == "openid"
    assert "address" not in profile.metadata["scopes_supported"]


@module
def scope_phone(profile):
    """Differs: the site knows no telephone numbers, so it leaves the scope out."""
    assert profile.log_in(scope="openid phone")["scope"] == "openid"
    assert "phone" not in profile.metadata["scopes_supported"]


@module
def scope_all(profile):
    """A request for all scopes of the standard gets those that the site has."""
    tokens = profile.log_in(scope="openid profile email address phone")
    assert tokens["scope"] == "openid profile email"


@module
def ensure_other_scope_order_succeeds(profile):
    """The order of scopes does not matter."""
    tokens = profile.log_in(scope="email openid")
    assert profile.claims(tokens)["email"] == EMAIL


@module
def alternate_happy_flow(profile):
    """Nor does that of parameters."""
    request = profile.app.parameters(scope="email profile openid")
    path = profile.app.url(AUTHORIZE, **dict(reversed(request.items())))
    assert "code" in answer_in(walk(profile.browser, path))


@module
def display_page(profile):
    """`display` is ignored."""
    assert profile.log_in(display="page")


@module
def display_popup(profile):
    """`display` is ignored."""
    assert profile.log_in(display="popup")


@module
def prompt_login(profile):
    """The user proves their identity again, and `auth_time` says when."""
    first = profile.claims(profile.log_in())
    profile.clock.move(60)
    second = profile.claims(profile.log_in_again(prompt="login"))
    assert second["sub"] == first["sub"]
    assert second["auth_time"] == first["auth_time"] + 60


@module
def prompt_none_not_logged_in(profile):
    """An anonymous browser comes back with an error, and sees no page."""
    answer = TestApp(profile.site).get(profile.app.url(prompt="none"), headers=BROWSER)
    assert answer_in(answer.location)["error"] == "login_required"


@module
def prompt_none_logged_in(profile):
    """A user who has allowed the app comes back with a code, and sees no page."""
    first = profile.claims(profile.log_in())
    answer = profile.browser.get(profile.app.url(prompt="none"), headers=BROWSER)
    second = profile.claims(profile.app.exchange(code_in(answer.location)))
    assert (second["sub"], second["auth_time"]) == (first["sub"], first["auth_time"])


@module
def max_age_1(profile):
    """A user whose login is older proves their identity again."""
    first = profile.claims(profile.log_in())
    profile.clock.move(2)
    second = profile.claims(profile.log_in_again(max_age=1))
    assert second["auth_time"] == first["auth_time"] + 2


@module
def max_age_10000(profile):
    """A user whose login is recent enough does not."""
    first = profile.claims(profile.log_in(max_age=10000))
    profile.clock.move(60)
    second = profile.claims(profile.log_in(max_age=10000))
    assert second["auth_time"] == first["auth_time"]


@module
def ensure_request_with_unknown_parameter_succeeds(profile):
    """Unknown parameters are ignored."""
    assert profile.log_in(extra="foobar")


@module
def id_token_hint(profile):
    """A silent request with an ID token of the user gives a code for the same user."""
    first = profile.log_in()
    second = profile.log_in(prompt="none", id_token_hint=first["id_token"])
    assert profile.claims(second)["sub"] == profile.claims(first)["sub"]


@module
def login_hint(profile):
    """A request can have `login_hint`."""
    assert profile.log_in(login_hint=EMAIL)


@module
def ui_locales(profile):
    """`ui_locales` is ignored: the site knows the languages of the user and of the browser."""
    assert profile.log_in(ui_locales="se")


@module
def claims_locales(profile):
    """`claims_locales` is ignored."""
    assert profile.log_in(claims_locales="se")


@module
def ensure_request_with_acr_values_succeeds(profile):
    """`acr_values` is ignored: `acr` says how the user has logged in."""
    supported = profile.metadata["acr_values_supported"]
    claims = profile.claims(profile.log_in(acr_values=" ".join(supported)))
    assert claims["acr"] in supported


@module
def codereuse(profile):
    """A code that is used twice is refused, and what the first use gave ends."""
    use_twice(profile, 0)


@module
def codereuse_30seconds(profile):
    """So is one that is used again after half a minute."""
    use_twice(profile, CODE_LIFETIME_OF_PROFILE)


def use_twice(profile, seconds):
    code = code_in(walk(profile.browser, profile.app.url()))
    tokens = profile.app.exchange(code)
    profile.clock.move(seconds)
    assert profile.app.exchange(code, 400)["error"] == "invalid_grant"
    profile.userinfo(tokens, 401)


@module
def ensure_registered_redirect_uri(profile):
    """A redirect URI that is not registered gets a page, and no redirect."""
    url = profile.app.url(redirect_uri=f"{CALLBACK}/other")
    answer = profile.browser.get(url, headers=BROWSER, status=400)
    assert answer.location is None
    assert answer.html.h1


@module
def ensure_post_request_succeeds(profile):
    """A request can be a form, which begins the same login."""
    answer = profile.browser.post(AUTHORIZE, profile.app.parameters(), headers=BROWSER)
    assert profile.app.exchange(code_in(walk(profile.browser, answer.location)))


@module
def server_client_secret_post(profile):
    """A client can send its secret in the form."""
    code = code_in(walk(profile.browser, profile.app.url()))
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": VERIFIER,
        "redirect_uri": CALLBACK,
        "client_id": profile.app.id,
        "client_secret": profile.app.secret,
    }
    assert profile.program.post(TOKEN, form).json["token_type"] == "Bearer"
    assert "client_secret_post" in profile.metadata["token_endpoint_auth_methods_supported"]


def request_object(**claims):
    """Return a request object without a signature."""
    return jwt.encode(claims, None, "none")


@module
def unsigned_request_object_supported_correctly_or_rejected_as_unsupported(profile):
    """Request objects are refused, as the metadata say."""
    sent = request_object(nonce="another")
    assert profile.refusal(request=sent) == "request_not_supported"
    assert profile.metadata["request_parameter_supported"] is False


@module
def claims_essential(profile):
    """Differs: `claims` is ignored, as the metadata say; scopes give the name."""
    tokens = profile.log_in(scope="openid", claims='{"userinfo":{"name":{"essential":true}}}')
    assert "name" not in profile.userinfo(tokens)
    assert profile.metadata["claims_parameter_supported"] is False


@module
def ensure_request_object_with_redirect_uri(profile):
    """A redirect URI in a request object is not read."""
    sent = request_object(redirect_uri="https://evil.example/")
    location = walk(profile.browser, profile.app.url(request=sent))
    assert location.startswith(f"{CALLBACK}?error=request_not_supported")


@module
def refresh_token(profile):
    """A refresh gives new tokens of the same login, and none to another client."""
    first = profile.log_in()
    other = App(profile.site, "Other")
    assert other.refresh(first["refresh_token"], 400)["error"] == "invalid_grant"
    second = profile.app.refresh(first["refresh_token"])
    for name in ("access_token", "refresh_token", "id_token"):
        assert second[name] != first[name]
    before, after = profile.claims(first), profile.claims(second)
    for name in ("iss", "sub", "aud", "auth_time"):
        assert after[name] == before[name]


@module
def ensure_request_with_valid_pkce_succeeds(profile):
    """A request with PKCE succeeds. Differs: one without PKCE is refused."""
    assert profile.log_in()
    without = {"code_challenge": None, "code_challenge_method": None}
    assert profile.refusal(**without) == "invalid_request"


class Logout:
    """A login to an app to which a logout can lead back, and its ID token.

    Attributes:
        page: The last page.
    """

    def __init__(self, profile):
        self.browser = profile.browser
        self.app = App(profile.site, "Logout", logout_redirects=[BYE])
        self.hint = self.app.log_in(self.browser)["id_token"]

    def open(self, **changes):
        """Open the URL of a logout; return where it leads, or "" with a page."""
        usual = {"id_token_hint": self.hint, "post_logout_redirect_uri": BYE, "state": STATE}
        sent = {name: each for name, each in {**usual, **changes}.items() if each is not None}
        self.page = self.browser.get("/auth/oauth/logout", sent, headers=BROWSER, status="*")
        return self.page.headers.get("Location", "")

    @property
    def has_ended(self):
        """Whether a silent request of the app finds no session."""
        answer = answer_in(walk(self.browser, self.app.url(prompt="none")))
        return answer.get("error") == "login_required"


@module
def rp_initiated_logout_discovery_endpoint_verification(profile):
    """The document has the `end_session_endpoint`."""
    assert profile.metadata["end_session_endpoint"].endswith("/auth/oauth/logout")


@module
def rp_initiated_logout(profile):
    """A logout with all parameters ends the session and leads back with `state`."""
    logout = Logout(profile)
    assert logout.open() == f"{BYE}?state={STATE}"
    assert logout.has_ended


@module
def rp_initiated_logout_bad_post_logout_redirect_uri(profile):
    """A URI that is not registered is a page."""
    logout = Logout(profile)
    assert logout.open(post_logout_redirect_uri=f"{BYE}/other") == ""
    assert logout.page.status_int == 400


@module
def rp_initiated_logout_query_added_to_post_logout_redirect_uri(profile):
    """A registered URI with a further query is a page."""
    assert Logout(profile).open(post_logout_redirect_uri=f"{BYE}?a=b") == ""


@module
def rp_initiated_logout_modified_id_token_hint(profile):
    """A changed ID token is a page that asks."""
    logout = Logout(profile)
    assert logout.open(id_token_hint=f"{logout.hint[:-4]}AAAA") == ""
    assert not logout.has_ended


@module
def rp_initiated_logout_bad_id_token_hint(profile):
    """An ID token of another issuer is a page that asks."""
    logout = Logout(profile)
    assert logout.open(id_token_hint=jwt.encode({"iss": "x"}, "x" * 32)) == ""
    assert not logout.has_ended


@module
def rp_initiated_logout_no_id_token_hint(profile):
    """Without an ID token and `client_id`, the answer is a page that asks, and leads nowhere."""
    logout = Logout(profile)
    assert logout.open(id_token_hint=None) == ""
    assert not logout.has_ended


@module
def rp_initiated_logout_no_params(profile):
    """Without parameters, the answer is a page that asks."""
    logout = Logout(profile)
    nothing = dict.fromkeys(("id_token_hint", "post_logout_redirect_uri", "state"))
    assert logout.open(**nothing) == ""
    assert logout.page.status_int == 200


@module
def rp_initiated_logout_no_post_logout_redirect_uri(profile):
    """Without a URI, the session ends, and a page of this site says so."""
    logout = Logout(profile)
    assert logout.open(post_logout_redirect_uri=None) == "/auth/oauth/logout"
    assert logout.has_ended


@module
def rp_initiated_logout_no_state(profile):
    """`state` can be missing."""
    assert Logout(profile).open(state=None) == BYE


@module
def rp_initiated_logout_only_state(profile):
    """With `state` alone, the answer is a page that asks."""
    assert Logout(profile).open(id_token_hint=None, post_logout_redirect_uri=None) == ""


@pytest.mark.slow
@pytest.mark.parametrize("check", MODULES, ids=name_of)
def test_the_site_does_what_the_profile_asks(check, profile):
    check(profile)
