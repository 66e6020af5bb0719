"""Issue the tokens of a login, which is handed to its client."""

from typing import NamedTuple

from wsgiauth.authentication.tokens import Tokens


class Login(NamedTuple):
    """A login that has begun, or has a new id, as it is handed to its client.

    Attributes:
        session_id: The id of its row.
        token: The access token.
        expires_in: When that ends, in seconds.
        generation: The number of its refresh token; 0: it has none.
        ends_at: When the login ends whatever happens, in seconds since the epoch.
    """

    session_id: str
    token: str
    expires_in: int
    generation: int
    ends_at: int

    def __repr__(self) -> str:
        return f"<Login until {self.ends_at}>"  # the token and the id are secret


def issue(
    user_id: int,
    session_id: str,
    tokens: Tokens,
    *,
    generation: int,
    expires_at: int,
    ends_at: int,
) -> Login:
    """Return a login with a new access token.

    Args:
        user_id: The user.
        session_id: The id of the session's row.
        tokens: Issues the token.
        generation: The number of its refresh token; 0: it has none, and the token lives as long as
            the login.
        expires_at: When the login ends if it is not used, in seconds since the epoch.
        ends_at: When it ends whatever happens.
    """
    now = int(tokens.now())
    # Only a refresh moves the end of a login with a refresh token, so its access tokens end before.
    token_ends_at = min(now + tokens.lifetime, expires_at) if generation else ends_at
    token = tokens.issue(user_id, session_id, token_ends_at)
    return Login(session_id, token, token_ends_at - now, generation, ends_at)
