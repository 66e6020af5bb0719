"""What pages depend on of their reader: the language, and the account that forms belong to.

The language is what the reader has chosen, or what their browser asks for.
An anonymous client gets no language that is stored with an account: the answer would tell who has
one.
"""

from collections.abc import Callable
from wsgiref.types import WSGIEnvironment

from wsgiauth.languages import Languages
from wsgiauth.languages.language import Language
from wsgiauth.web.cookies import OwnCookie

LANGUAGE = OwnCookie("-language", 365 * 24 * 60 * 60)  # the name of a language

# In the environ of a request below the mount, once it is known: the language of its user.
LANGUAGE_OF_USER = "wsgiauth.language"
# ... and the number of the user that the page is for, if it is for one.
USER_OF_PAGE = "wsgiauth.page_user"

_Reads = Callable[[WSGIEnvironment], str]


class Readers:
    """Chooses the language of each response from those of the site, and marks its forms.

    Args:
        languages: Those of the site.
        of_user: Returns the language of the user who sent a request; an empty string if the client
            is anonymous, or the user has not chosen one.
        of_cookie: Returns what the cookie of a request names.
        form_account: Returns the field `account` of the forms of a user, by their number.
    """

    def __init__(
        self,
        languages: Languages,
        *,
        of_user: _Reads = lambda _: "",
        of_cookie: _Reads = lambda _: "",
        form_account: Callable[[int], str] = lambda _: "",
    ) -> None:
        self.languages: Languages = languages
        self._of_user = of_user
        self._of_cookie = of_cookie
        self._form_account = form_account

    def language(self, environ: WSGIEnvironment) -> Language:
        """Return the language of the response to a request.

        That of the user, then that of the cookie, then the one that Accept-Language asks for, then
        the site's default.
        """
        if len(self.languages) == 1:
            return self.languages.default  # without a query
        of_user = self.languages.find(self._of_user(environ))
        return of_user or self._asked_for(environ) or self.languages.default

    def form_account(self, environ: WSGIEnvironment) -> str:
        """Return the field `account` of the forms in a response; empty if it is for everyone."""
        user_id = environ.get(USER_OF_PAGE, 0)
        return self._form_account(user_id) if user_id else ""

    def name_asked_for(self, environ: WSGIEnvironment) -> str:
        """Return the language that a client asks for, whoever it is; an empty string if none."""
        language = self._asked_for(environ)
        return "" if language is None else language.name

    def _asked_for(self, environ: WSGIEnvironment) -> Language | None:
        of_cookie = self.languages.find(self._of_cookie(environ))
        return of_cookie or self.languages.accepted(environ.get("HTTP_ACCEPT_LANGUAGE", ""))
