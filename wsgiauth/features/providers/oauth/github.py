"""GitHub: github.com, GitHub Enterprise Cloud at ghe.com, and GitHub Enterprise Server.

See "Authorizing OAuth apps" and "REST API endpoints for users" in GitHub's documentation.
"""

from types import MappingProxyType
from urllib.parse import urlsplit

from wsgiauth.features.providers.oauth.api import Api, ApiError, Ask
from wsgiauth.features.providers.oidc.documents import Document

_LARGEST_ID = 2**63  # of a column of 64 bits


class GitHub(Api):
    """An account is its number. A login name can be changed, and then belong to someone else."""

    headers = MappingProxyType(
        {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    )

    def __init__(self, origin: str) -> None:
        self.issuer = f"{origin}/login/oauth"
        self.authorization_endpoint = f"{self.issuer}/authorize"
        self.token_endpoint = f"{self.issuer}/access_token"
        self._api = _api_of(origin)

    def profile(self, ask: Ask) -> Document:
        """Return the claims of `/user`, whose `email` is only the public address."""
        found = ask("user", f"{self._api}/user")
        user = found if isinstance(found, dict) else {}
        number = user.get("id")
        if type(number) is not int or not 0 < number < _LARGEST_ID:  # True is an int, too
            raise ApiError("user: id")
        login, name = user.get("login"), user.get("name")
        return {"sub": str(number), "preferred_username": login, "name": name}

    def address(self, ask: Ask) -> Document:
        """Return the primary address of `/user/emails`; no other one is used."""
        listed = ask("emails", f"{self._api}/user/emails?per_page=100")
        if not isinstance(listed, list):
            raise ApiError("emails: list")
        objects = [each for each in listed if isinstance(each, dict)]
        primary = [each for each in objects if each.get("primary") is True]
        if len(primary) != 1:  # of two, it is not clear which one is verified
            return {}
        return {"email": primary[0].get("email"), "email_verified": primary[0].get("verified")}


def _api_of(origin: str) -> str:
    host = urlsplit(origin).netloc
    if host == "github.com" or host.endswith(".ghe.com"):
        return f"https://api.{host}"
    return f"{origin}/api/v3"
