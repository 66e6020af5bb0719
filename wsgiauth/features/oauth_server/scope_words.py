"""What an app has been allowed, in words for the staff, who read about another user."""

from collections.abc import Iterable, Mapping

from wsgiauth.accounts.models import has_usernames
from wsgiauth.authentication.scopes import EMAIL, GROUPS, OFFLINE, OPENID, PROFILE, in_words
from wsgiauth.messages import list_of, pgettext

_WORDS: Mapping[str, str] = {
    OPENID: pgettext("access of an app", "account number"),
    PROFILE: pgettext("access of an app", "username and language"),
    EMAIL: pgettext("access of an app", "email address"),
    GROUPS: pgettext("access of an app", "groups"),
    OFFLINE: pgettext("access of an app", "access after a logout"),
}


def for_staff(scopes: Iterable[str]) -> str:
    """Return scopes as a list of words, the usual ones first.

    A permission, and the service that the access is for, stay as they are.
    """
    words = {**_WORDS}
    if not has_usernames():
        words[PROFILE] = pgettext("access of an app", "language")
    return list_of(words.get(each.name, each.name) for each in in_words(scopes))
