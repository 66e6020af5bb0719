"""What an app that users log in to can be allowed (RFC 6749 section 3.3), in words."""

from collections.abc import Iterable
from typing import NamedTuple

from wsgiauth.accounts.models import has_usernames
from wsgiauth.messages import _

OPENID = "openid"  # OpenID Connect Core 1.0, section 3.1.2.1
PROFILE, EMAIL, OFFLINE = "profile", "email", "offline_access"  # sections 5.4 and 11
GROUPS = "groups"

_WORDS = {
    OPENID: _("Recognize you when you log in again"),
    PROFILE: _("See your username and your language"),
    EMAIL: _("See your email address"),
    GROUPS: _("See which groups you are in"),
    OFFLINE: _("Keep this access after you log out here"),
}

STANDARD = tuple(_WORDS)

_RESOURCE = "resource="  # before the name of a service, among what a user has allowed


class ScopeInWords(NamedTuple):
    """A scope on a page or in an email."""

    name: str
    text: str

    @property
    def is_permission(self) -> bool:
        """Whether it is a permission of the site, whose name is all that is known of it."""
        return not (self.name in _WORDS or self.name.startswith(_RESOURCE))


def in_words(scopes: Iterable[str]) -> tuple[ScopeInWords, ...]:
    """Return scopes as sentences about what the app can do, the usual ones first.

    A scope without words of its own is a permission.
    """
    chosen = list(scopes)
    ordered = [each for each in STANDARD if each in chosen]
    ordered += sorted(each for each in chosen if each not in STANDARD)
    return tuple(ScopeInWords(each, _words_of(each)) for each in ordered)


def with_resource(scopes: Iterable[str], resource: str) -> list[str]:
    """Return scopes, and the service that they are for, as consents list both."""
    return [*scopes, *([f"{_RESOURCE}{resource}"] if resource else [])]


def _words_of(scope: str) -> str:
    if scope == PROFILE and not has_usernames():
        return _("See your language")
    if scope.startswith(_RESOURCE):
        return _("Use the service %(service)s", service=scope.removeprefix(_RESOURCE))
    return _WORDS.get(scope) or _("Use your permission %(permission)s", permission=scope)
