"""Accounts on the file of a reader's folder, and their tokens."""

import json
import urllib.request

from tests.support.sites import PASSWORD, SECRET_KEY, USERNAME
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


def ask(url, headers=None, body=None, context=None):
    """Return the status of a request and what it answers."""
    request = urllib.request.Request(url, body, headers or {})
    try:
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def token_of(address, **options):
    """Log in over HTTP as the README's user; return the header with the token."""
    body = json.dumps({"username": USERNAME, "password": PASSWORD}).encode()
    headers = {"Content-Type": "application/json"}
    status, answer = ask(f"{address}/auth/login", headers, body, **options)
    assert status == 200, answer
    return {"Authorization": f"Bearer {json.loads(answer)['access_token']}"}
