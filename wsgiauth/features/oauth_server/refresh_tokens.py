"""The refresh tokens of grants: each is used once, for new tokens and the next refresh token.

A token is the id of its grant and a number, with a signature; the row has the number of the current
token. A token that is used twice was copied (RFC 9700 section 4.14.2).
"""

from wsgiauth.authentication.refresh import NumberedTokens
from wsgiauth.settings import Settings
from wsgiauth.signed_values import Purpose

PREFIX = "wsgiauth-app_"

_PURPOSE = Purpose("refresh tokens of other apps")


class GrantTokens(NumberedTokens):
    """Issues and verifies the refresh tokens of grants."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, _PURPOSE, PREFIX)
