"""The failures of a provider, with their sentences for people."""

import secrets
from collections.abc import Mapping
from http import HTTPStatus

from wsgiauth.exceptions import RequestError
from wsgiauth.messages import _

BUSY = "busy"  # the reason for which a browser loads the same URL again


class ProviderError(RequestError):
    """An OpenID provider cannot be used now, or its answer or the browser's request is refused.

    Attributes:
        reason: The cause for the log, in a few fixed words; never input.
        seconds: After how many seconds to try again, for a response with status 503.
    """

    def __init__(
        self, status: HTTPStatus, reason: str, detail: str, *, seconds: int | None = None
    ) -> None:
        is_unavailable = status is HTTPStatus.SERVICE_UNAVAILABLE
        code = "provider_unavailable" if is_unavailable else "provider_failed"
        headers = () if seconds is None else (("Retry-After", str(seconds)),)
        super().__init__(status, code, detail, headers=headers)
        self.reason = reason
        self.seconds = seconds
        self.pages: Mapping[str, str] = {"login": _("Back to the login page")}


class Failures:
    """Makes the errors of the provider with this title."""

    def __init__(self, title: str) -> None:
        self._title = title

    def unavailable(self, reason: str, seconds: int) -> ProviderError:
        """Return the error for a provider that is down, slow or busy."""
        detail = _(
            "%(provider)s does not answer at the moment. Try again in a few seconds.",
            provider=self._title,
        )
        return ProviderError(HTTPStatus.SERVICE_UNAVAILABLE, reason, detail, seconds=seconds)

    def busy(self) -> ProviderError:
        """Return the error for a browser that is not admitted yet; it loads the URL again."""
        detail = _(
            "Many users are logging in with %(provider)s at the moment. This page is loaded again"
            " in a few seconds.",
            provider=self._title,
        )
        error = ProviderError(HTTPStatus.SERVICE_UNAVAILABLE, BUSY, detail, seconds=1)
        # Spread, so that not all return in the same second. The HTML standard has this header.
        error.headers += (("Refresh", str(1 + secrets.randbelow(3))),)
        return error

    def wrong(self, reason: str) -> ProviderError:
        """Return the error for a refused answer, or a wrong configuration, of the provider."""
        detail = _(
            "%(provider)s sent an answer that this site cannot accept. Try again; if it happens"
            " again, ask an operator of this site, who can find the cause in the log.",
            provider=self._title,
        )
        return ProviderError(HTTPStatus.BAD_GATEWAY, reason, detail)

    def clock(self) -> ProviderError:
        """Return the error for a token of another time."""
        detail = _(
            "The clock of this site or of %(provider)s is wrong. Try again; if it happens again,"
            " ask an operator of this site.",
            provider=self._title,
        )
        return ProviderError(HTTPStatus.BAD_GATEWAY, "clock", detail)

    def callback(self, reason: str) -> ProviderError:
        """Return the error for a refused response that a browser has brought."""
        detail = _(
            "This login with %(provider)s cannot be completed. Start again.", provider=self._title
        )
        return ProviderError(HTTPStatus.BAD_REQUEST, reason, detail)

    def declined(self, reason: str) -> ProviderError:
        """Return the error for a user who did not allow the login."""
        detail = _(
            "You did not allow the login with %(provider)s. Try again, or choose another way.",
            provider=self._title,
        )
        return ProviderError(HTTPStatus.FORBIDDEN, reason, detail)

    def not_confirmed(self) -> ProviderError:
        """Return the error for a provider that did not ask the user to log in again."""
        detail = _(
            "%(provider)s did not ask you to log in again, so this login does not confirm your"
            " identity. Confirm it in another way.",
            provider=self._title,
        )
        return ProviderError(HTTPStatus.FORBIDDEN, "auth_time", detail)

    def logout_token(self, reason: str) -> ProviderError:
        """Return the error for a refused logout token."""
        return ProviderError(HTTPStatus.BAD_REQUEST, reason, "The logout token is not valid.")
