"""Accounts on the file of a reader's folder, and their tokens."""

from tests.sites import SECRET_KEY
from wsgiauth import Settings

ROUNDS = 4


def settings_of(folder):
    return Settings(
        SECRET_KEY=SECRET_KEY,
        BCRYPT_ROUNDS=ROUNDS,
        DATABASE_URL=f"sqlite:///{folder / 'wsgiauth.db'}",
        LOGIN_FAILURES_PER_ADDRESS=0,
    )


def bearer(client, username, password):
    """Log in over HTTP; return the header with the token, or None."""
    account = {"username": username, "password": password}
    answer = client.post_json("/auth/login", account, status="*")
    if answer.status_int != 200:
        return None
    return {"Authorization": f"Bearer {answer.json['access_token']}"}
