"""The language of a reader, and the account that the forms of a page belong to.

Readers choose a language, or their browser asks for one. An anonymous client never gets the
language of an account, because the answer would tell that the account exists.
"""

from collections.abc import Callable
from wsgiref.types import WSGIEnvironment

from wsgiauth.languages import Languages
from wsgiauth.languages.language import Language
from wsgiauth.web.cookies import OwnCookie

LANGUAGE = OwnCookie("-language", 365 * 24 * 60 * 60, is_shared=True)  # the name of a language

# The same, until a login stores it for the user.
CHOSEN = OwnCookie("-chosen", 10 * 60, is_shared=True)

# Keys of environ below the mount.
LANGUAGE_OF_USER = "wsgiauth.language"  # once it is known
USER_OF_PAGE = "wsgiauth.page_user"  # the user that the page is for

_Reads = Callable[[WSGIEnvironment], str]


class Readers:
    """Chooses the language of each response, and the field `account` of its forms.

    Args:
        languages: The languages of the site.
        of_user: Returns the language that the user of a request has chosen, or "".
        of_cookie: Returns the language in a cookie of a request.
        number_of_user: Returns the number of the user of a request, or 0.
        label_of_user: Returns the label of the user of a request, or "".
        form_account: Returns the field `account` for the number of a user.
    """

    def __init__(
        self,
        languages: Languages,
        *,
        of_user: _Reads = lambda _: "",
        of_cookie: Callable[[WSGIEnvironment, OwnCookie], str] = lambda _, __: "",
        number_of_user: Callable[[WSGIEnvironment], int] = lambda _: 0,
        label_of_user: _Reads = lambda _: "",
        form_account: Callable[[int], str] = lambda _: "",
    ) -> None:
        self.languages: Languages = languages
        self._of_user = of_user
        self._of_cookie = of_cookie
        self._number_of_user = number_of_user
        self.label: _Reads = label_of_user
        self._form_account = form_account

    def language(self, environ: WSGIEnvironment) -> Language:
        """Return the language of the user, the cookie, Accept-Language or the site."""
        if len(self.languages) == 1:
            return self.languages.default  # without a query
        of_user = self.languages.find(self._of_user(environ))
        return of_user or self._asked_for(environ) or self.languages.default

    def form_account(self, environ: WSGIEnvironment) -> str:
        """Return the field `account` of a response; empty if it is for everyone."""
        user_id = self._number_of_user(environ)
        return self._form_account(user_id) if user_id else ""

    def name_asked_for(self, environ: WSGIEnvironment) -> str:
        """Return the language in the cookie or in Accept-Language, or ""."""
        language = self._asked_for(environ)
        return "" if language is None else language.name

    def name_chosen(self, environ: WSGIEnvironment) -> str:
        """Return the language that the reader chose a moment ago, before a login, or ""."""
        language = self.languages.find(self._of_cookie(environ, CHOSEN))
        return "" if language is None else language.name

    def _asked_for(self, environ: WSGIEnvironment) -> Language | None:
        of_cookie = self.languages.find(self._of_cookie(environ, LANGUAGE))
        return of_cookie or self.languages.accepted(environ.get("HTTP_ACCEPT_LANGUAGE", ""))
