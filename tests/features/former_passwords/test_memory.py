"""A former password that needs more memory than the process can have."""

import subprocess
import sys

import pytest

from tests.support.sites import SECRET_KEY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is of Linux")

HASHES = [
    f"scrypt:65536:8:1$salt${'00' * 64}",
    f"$argon2id$v=19$m=65536,t=1,p=1$c2FsdHNhbHQ${'A' * 43}",
]
PROGRAM = """
import resource, sys
from webtest import TestApp
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, Settings, create_user
from wsgiauth.throttling.counts import AttemptCount

key, url, *hashes = sys.argv[1:]
settings = Settings(SECRET_KEY=key, DATABASE_URL=url, BCRYPT_ROUNDS=4)
client = TestApp(AuthMiddleware(echo, settings))

def log_in(name, status):
    body = {"username": name, "password": "wrong"}
    answer = client.post_json("/auth/login", body, status=status)
    return answer.headers.get("Retry-After"), sorted(each.count for each in AttemptCount.select())

for number, former_hash in enumerate(hashes):
    name = f"user{number}"
    create_user(name, f"{name}@example.org", settings=settings, former_hash=former_hash)
    _, counts = log_in(name, 401)
    pages = int(open("/proc/self/statm").read().split()[0])
    former = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + (32 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, former[1]))
    assert log_in(name, 503) == ("1", counts)
    resource.setrlimit(resource.RLIMIT_AS, former)
    assert log_in(name, 401)[1] != counts
"""


@pytest.mark.promise(80)
@pytest.mark.slow
def test_a_login_without_the_memory_gets_503_and_does_not_count(tmp_path):
    arguments = [SECRET_KEY, f"sqlite:///{tmp_path}/wsgiauth.db", *HASHES]
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("not enough memory")) == (0, 2), done.stderr
