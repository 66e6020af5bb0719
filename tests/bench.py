"""What identifying a caller costs, beside its floor: `make bench`.

Microseconds a request, the median of interleaved rounds in one process, so that a noisy machine
disturbs all rows alike; compare the ratios, not the figures.
"""

import itertools
import logging
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import jwt

from tests.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME
from wsgiauth import AuthMiddleware, Settings, sessions
from wsgiauth.accounts import create_user
from wsgiauth.tokens import Tokens

ROUNDS = 40
REQUESTS = 250  # in a round

SELECT = (
    "SELECT u.* FROM wsgiauth_user u JOIN wsgiauth_session s ON s.user_id = u.id"
    " WHERE s.id = ? AND s.expires_at > ? AND u.is_active"
)


def app(environ, start_response):
    """Answer nothing, as fast as can be."""
    return ()


def cases(folder):
    """Return what is timed, by name, in the order in which it is printed."""
    path = folder / "bench.db"
    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=f"sqlite:///{path}", BCRYPT_ROUNDS=4)
    site = AuthMiddleware(app, settings)
    tokens = Tokens(settings)
    user = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    token = sessions.start(user, tokens)
    session_id = tokens.verify(token).session_id
    connection = sqlite3.connect(path)
    cursor = connection.cursor()
    unseen = iter([sessions.start(user, tokens) for _ in range(ROUNDS * REQUESTS)])
    garbage = (f"{token[:-8]}{number:08}" for number in itertools.count())

    def request(**headers):
        site(
            {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.url_scheme": "http", **headers}, None
        )

    return {
        "no middleware": lambda: app(
            {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.url_scheme": "http"}, None
        ),
        "anonymous": request,
        "bearer, seen before": lambda: request(HTTP_AUTHORIZATION=f"Bearer {token}"),
        "bearer, never seen": lambda: request(HTTP_AUTHORIZATION=f"Bearer {next(unseen)}"),
        "cookie": lambda: request(HTTP_COOKIE=f"wsgiauth={token}"),
        "garbage token": lambda: request(HTTP_AUTHORIZATION=f"Bearer {next(garbage)}"),
        "floor: jwt.decode": lambda: jwt.decode(token, SECRET_KEY, algorithms=["HS256"]),
        "floor: one SELECT": lambda: cursor.execute(SELECT, (session_id, 0)).fetchone(),
    }


def main():
    """Print the table."""
    logging.disable()  # of warnings about bcrypt's cost, which is not measured here
    with tempfile.TemporaryDirectory() as folder:
        timed = cases(Path(folder))
        rounds = {name: [] for name in timed}
        for _ in range(ROUNDS):
            for name, action in timed.items():
                start = time.perf_counter()
                for _ in range(REQUESTS):
                    action()
                rounds[name].append((time.perf_counter() - start) / REQUESTS * 1e6)
    medians = {name: statistics.median(times) for name, times in rounds.items()}
    floor = medians["floor: jwt.decode"] + medians["floor: one SELECT"]
    for name, median in medians.items():
        print(f"{name:22}{median:8.1f} µs {median / floor:6.2f} of jwt.decode + SELECT")


if __name__ == "__main__":
    main()
