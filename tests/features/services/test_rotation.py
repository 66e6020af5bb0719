"""The replacement of a key, in the steps of docs/services.md: no token is refused meanwhile."""

import itertools
from contextlib import ExitStack

import httpx
import jwt
import pytest

from tests.support.service_keys import (
    ISSUER,
    REPORTS,
    new_key,
    pem_of,
    service_tokens,
    with_services,
    write_key,
)
from tests.support.sites import echo, serving
from wsgiauth import AuthMiddleware

NOW = 1_800_000_000
ALGORITHMS = ["ES256", "EdDSA", "RS256"]

# The files after each step.
STEPS = [
    {"2026-11.pem": "old"},
    {"0-next.pem": "new", "2026-11.pem": "old"},
    {"2026-11.pem": "old", "2027-02.pem": "new"},
    {"2027-02.pem": "new"},
]
# By step, the earliest one whose keys a service can have stored: an hour passes after the first.
STORED_SINCE = {1: 0, 2: 1, 3: 1}


@pytest.fixture
def processes(settings, tmp_path):
    """Return a process of each step."""
    keys = {"old": pem_of(new_key()), "new": pem_of(new_key("EdDSA"))}
    made = []
    for number, files in enumerate(STEPS):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        for name, key in files.items():
            write_key(folder / name, keys[key])
        made.append(service_tokens(with_services(settings, folder), lambda: NOW))
    return made


def issue(process):
    return process.issue(7, REPORTS, scope=(), sid="0" * 16, proof=None)


def admits(stored, token):
    """Return whether a service admits a token that has stored these keys and fetches no others."""
    try:
        key = jwt.PyJWKSet.from_dict(stored)[jwt.get_unverified_header(token)["kid"]]
        times = {"verify_exp": False, "verify_iat": False}
        jwt.decode(token, key, ALGORITHMS, audience=REPORTS, issuer=ISSUER, options=times)
    except KeyError:
        return False
    return True


def test_processes_of_two_steps_side_by_side_have_no_token_refused(processes):
    """Whichever of them issued it, and whichever the service has its keys from."""
    refused = [
        (step, issuer, keys)
        for step, since in STORED_SINCE.items()
        for issuer, keys in itertools.product(
            processes[step - 1 : step + 1],
            (each.signed.key_set for each in processes[since : step + 1]),
        )
        if not admits(keys, issue(issuer))
    ]
    assert refused == []


def test_processes_of_two_steps_know_each_others_tokens(processes):
    """Those of the old key have expired before it is deleted."""
    for before, after in itertools.pairwise(processes):
        assert before.verify(issue(after), NOW) is not None
        assert after.verify(issue(before), NOW) is not None


def test_a_new_key_that_signs_at_once_is_refused_where_keys_are_stored(processes):
    """This is why a key is published an hour before it signs."""
    assert not admits(processes[0].signed.key_set, issue(processes[2]))


@pytest.mark.promise(64)
def test_a_service_that_stores_keys_admits_tokens_of_sites_before_and_after_the_rename(
    settings, tmp_path, ada, bearer
):
    """PyJWT's client keeps the keys, and fetches none within 30 seconds, not even unknown ones."""
    pems = {"old": pem_of(new_key()), "new": pem_of(new_key())}
    with ExitStack() as running:
        addresses = []
        for number, files in enumerate(STEPS[1:3]):
            folder = tmp_path / f"{number}"
            folder.mkdir()
            for name, key in files.items():
                write_key(folder / name, pems[key])
            site = AuthMiddleware(echo, with_services(settings, folder))
            addresses.append(f"{running.enter_context(serving(site))}/auth")
        client = jwt.PyJWKClient(f"{addresses[0]}/jwks.json")
        tokens = [
            httpx.post(f"{each}/token", json={"audience": REPORTS}, headers=bearer(ada)).json()
            for each in addresses
        ]
        keys = [client.get_signing_key_from_jwt(each["access_token"]) for each in tokens]
    assert keys[0].key_id != keys[1].key_id
    for key, token in zip(keys, tokens, strict=True):
        claims = jwt.decode(token["access_token"], key, audience=REPORTS, issuer=ISSUER)
        assert claims["sub"] == str(ada.id)
