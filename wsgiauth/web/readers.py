"""The language of a response: what its reader has chosen, or what their browser asks for.

An anonymous client gets no language that is stored with an account: the answer would tell who has
one.
"""

from collections.abc import Callable
from wsgiref.types import WSGIEnvironment

from wsgiauth.languages import Languages
from wsgiauth.languages.language import Language

# In the environ of a request below the mount, once it is known: the language of its user.
LANGUAGE_OF_USER = "wsgiauth.language"

_Reads = Callable[[WSGIEnvironment], str]


class Readers:
    """Chooses the language of each response from those of the site.

    Args:
        languages: Those of the site.
        of_user: Returns the language of the user who sent a request; an empty string if the client
            is anonymous, or the user has not chosen one.
        of_cookie: Returns what the cookie of a request names.
    """

    def __init__(
        self,
        languages: Languages,
        *,
        of_user: _Reads = lambda _: "",
        of_cookie: _Reads = lambda _: "",
    ) -> None:
        self.languages: Languages = languages
        self._of_user = of_user
        self._of_cookie = of_cookie

    def language(self, environ: WSGIEnvironment) -> Language:
        """Return the language of the response to a request.

        That of the user, then that of the cookie, then the one that Accept-Language asks for, then
        the site's default.
        """
        if len(self.languages) == 1:
            return self.languages.default  # without a query
        of_user = self.languages.find(self._of_user(environ))
        return of_user or self._asked_for(environ) or self.languages.default

    def name_asked_for(self, environ: WSGIEnvironment) -> str:
        """Return the language that a client asks for, whoever it is; an empty string if none."""
        language = self._asked_for(environ)
        return "" if language is None else language.name

    def _asked_for(self, environ: WSGIEnvironment) -> Language | None:
        of_cookie = self.languages.find(self._of_cookie(environ))
        return of_cookie or self.languages.accepted(environ.get("HTTP_ACCEPT_LANGUAGE", ""))
