"""Stand-ins of GitHub and of Discord, which answer as their documentation says.

    with GitHub() as github:
        github.register("ada", emails=[email("ada@example.org")])
        settings = replace(settings, OIDC_PROVIDERS=(github.entry("github"),))

Both are honest until a test says otherwise, in the ways of `tests/support/hostile_provider.py`, and
begin with one account, `ada`.
"""

from secrets import token_urlsafe
from urllib.parse import unquote_plus, urlencode, urlsplit

from tests.support.hostile_provider import Grant, Provider
from tests.support.provider_answers import Answer, Json, Redirect
from tests.support.provider_keys import challenge, changed

ADA = 583231  # at GitHub
ADAS_SNOWFLAKE = "80351110224678912"  # at Discord; JavaScript would round it


def email(address, *, primary=True, verified=True, **further):
    """Return an address in the list of GitHub."""
    visibility = {"visibility": "private" if primary else None}
    return {"email": address, "primary": primary, "verified": verified, **visibility, **further}


class OAuthProvider(Provider):
    """What both have: accounts whose names can change, codes with PKCE, and access tokens.

    Attributes:
        callback: The registered callback URL, or None if any is.
        accounts: The accounts by their unchanging number; tests change them.
    """

    kind = ""

    def __init__(self, certificate=None):
        super().__init__("", certificate)
        self.callback = None
        self.accounts = {}

    def entry(self, name=None, **parameters):
        """Return the entry of OIDC_PROVIDERS."""
        return super().entry(f"{name or self.kind}+{self.kind}", **parameters)

    def number_of(self, name):
        """Return the number of the account that has a name now."""
        return next(number for number, each in self.accounts.items() if self.name_of(each) == name)

    def _grant(self, request):
        person = request.headers.get("cookie", "person=ada").removeprefix("person=")
        code = token_urlsafe()
        number = self.number_of(unquote_plus(person))
        self._codes[code] = Grant(request.query, number, "", self.now())
        return code

    def _redeem(self, request):
        """Return an access token for a code, or None."""
        grant = self._codes.pop(request.form.get("code"), None)
        if grant is None or not self._fits(grant.asked, request.form):
            return None
        token = token_urlsafe()
        self._access_tokens[token] = grant
        return token

    def _fits(self, asked, form):
        verifier = form.get("code_verifier", "")
        return (
            form.get("redirect_uri") == asked["redirect_uri"]
            and challenge(verifier) == asked["code_challenge"]
        )

    def _is_client(self, form):
        sent = (form.get("client_id"), form.get("client_secret"))
        return sent == (self.client_id, self.client_secret)

    def _granted(self, request):
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        return self._access_tokens.get(token) if kind == "Bearer" else None


class GitHub(OAuthProvider):
    """GitHub Enterprise Server, whose API is below `/api/v3`.

    Attributes:
        limit: The headers of the 403 with which the API answers too many requests, or None.
        blocked: Organisations that do not allow the app; they hide nothing of the user.
    """

    kind = "github"

    def __init__(self, certificate=None):
        super().__init__(certificate)
        self.limit = None
        self.blocked = ["acme"]
        self.is_suspended = False
        self.register("ada", ADA)

    def register(self, login, number=None, *, emails=None):
        """Register an account, and return its number, which no account ever gets again."""
        number = number or max(self.accounts, default=ADA) + 1
        self.accounts[number] = {
            "login": login,
            "id": number,
            "node_id": "MDQ6VXNlcjU4MzIzMQ==",
            "type": "User",
            "name": login.title(),
            "email": "public@example.org",  # public, and perhaps not theirs
            "emails": emails or [email(f"{login}@example.org")],
        }
        return number

    @staticmethod
    def name_of(account):
        return account["login"]

    def _honest(self, request):
        answers = {
            ("GET", "/login/oauth/authorize"): self._authorize,
            ("POST", "/login/oauth/access_token"): self._exchange,
            ("GET", "/api/v3/user"): self._user,
            ("GET", "/api/v3/user/emails"): self._emails,
            ("GET", "/api/v3/user/orgs"): self._organisations,
        }
        answer = answers.get((request.method, request.path))
        return Json({"message": "Not Found"}, 404) if answer is None else answer(request)

    def _authorize(self, request):
        asked = request.query
        if asked.get("client_id") != self.client_id:
            return Json({"message": "Not Found"}, 404)
        wanted, registered = asked["redirect_uri"], self.callback or asked["redirect_uri"]
        if not self._is_below(wanted, registered):
            said = {"error": "redirect_uri_mismatch", "error_description": "It MUST match."}
        elif self.is_suspended:
            said = {"error": "application_suspended", "error_description": "Contact support."}
        else:
            said = {"code": self._grant(request)}
        usual = {**said, "state": asked.get("state", ""), "iss": f"{self.origin}/login/oauth"}
        target = wanted if "code" in said else registered
        return Redirect(f"{target}?{urlencode(changed(usual, self.redirect))}", 303)

    @staticmethod
    def _is_below(url, registered):
        one, other = urlsplit(url), urlsplit(registered)
        is_same = one[:2] == other[:2]
        return is_same and f"{one.path}/".startswith(f"{other.path.rstrip('/')}/")

    def _exchange(self, request):
        if request.headers.get("accept") != "application/json":
            return Answer(body=b"access_token=gho_x&scope=&token_type=bearer")
        form = request.form
        if form.get("client_id") != self.client_id:
            return Json({"error": "Not Found"}, 404)
        if not self._is_client(form):
            return self._error("incorrect_client_credentials")
        grant = self._codes.get(form.get("code"))
        if grant is not None and form.get("redirect_uri") != grant.asked["redirect_uri"]:
            return self._error("redirect_uri_mismatch")
        token = self._redeem(request)
        if token is None:
            return self._error("bad_verification_code")
        scope = self._access_tokens[token].asked["scope"].replace(" ", ",")
        usual = {"access_token": token, "token_type": "bearer", "scope": scope}
        return Json(changed(usual, self.tokens))

    @staticmethod
    def _error(name):
        """Return an error, which has the status 200."""
        return Json({"error": name, "error_description": "See the URI.", "error_uri": "/apps/"})

    def _user(self, request):
        def describe(account):
            return {name: each for name, each in account.items() if name != "emails"}

        return self._api(request, describe, scope="")

    def _emails(self, request):
        return self._api(request, lambda account: account["emails"], scope="user:email")

    def _organisations(self, request):
        restricted = {"message": f"The {self.blocked[0]} organization has restricted OAuth apps."}
        return Json(restricted, 403)

    def _api(self, request, describe, scope):
        if not request.headers.get("user-agent"):
            return Answer(403, b"Request forbidden by administrative rules.")
        if self.limit is not None:
            return Answer(403, b'{"message": "API rate limit exceeded"}', self.limit)
        grant = self._granted(request)
        if grant is None or grant.subject not in self.accounts:
            return Json({"message": "Bad credentials"}, 401)
        if scope not in ("", *grant.asked["scope"].split()):
            return Json({"message": "Not Found"}, 404)
        return Json(describe(self.accounts[grant.subject]))


class Discord(OAuthProvider):
    """Discord; `is_limited`: it answers 429."""

    kind = "discord"

    def __init__(self, certificate=None):
        super().__init__(certificate)
        self.is_limited = False
        self.register("ada", ADAS_SNOWFLAKE)

    def register(self, username, number=None, **further):
        """Register an account, and return its snowflake."""
        number = number or str(max(map(int, self.accounts)) + 1)
        self.accounts[number] = {
            "id": number,
            "username": username,
            "discriminator": "0",
            "global_name": username.title(),
            "email": f"{username}@example.org",
            "verified": True,
            "mfa_enabled": True,
            **further,
        }
        return number

    @staticmethod
    def name_of(account):
        return account["username"]

    def _honest(self, request):
        answers = {
            ("GET", "/oauth2/authorize"): self._authorize,
            ("POST", "/api/oauth2/token"): self._exchange,
            ("GET", "/api/v10/users/@me"): self._user,
        }
        answer = answers.get((request.method, request.path))
        return (
            Json({"message": "404: Not Found", "code": 0}, 404) if not answer else answer(request)
        )

    def _authorize(self, request):
        asked = request.query
        usual = {"code": self._grant(request), "state": asked["state"], "iss": self.origin}
        query = urlencode(changed(usual, self.redirect))
        return Redirect(f"{asked['redirect_uri']}?{query}", 303)

    def _exchange(self, request):
        form = request.form
        if not self._is_client(form):
            return Json({"error": "invalid_client"}, 401)
        if not form.get("redirect_uri"):
            return Json({"error": "invalid_request"}, 400)
        token = self._redeem(request) if form.get("grant_type") == "authorization_code" else None
        if token is None:
            return Json({"error": "invalid_grant"}, 400)
        scope = self._access_tokens[token].asked["scope"]
        usual = {"access_token": token, "token_type": "Bearer", "scope": scope}
        return Json(changed({**usual, "expires_in": 604800, "refresh_token": "x"}, self.tokens))

    def _user(self, request):
        if self.is_limited:
            headers = {"Retry-After": "65", "X-RateLimit-Remaining": "0"}
            return Answer(429, b'{"message": "You are being rate limited."}', headers)
        grant = self._granted(request)
        if grant is None:
            return Json({"message": "401: Unauthorized", "code": 0}, 401)
        account = dict(self.accounts[grant.subject])
        if "email" not in grant.asked["scope"].split():
            del account["email"], account["verified"]
        return Json(account)
