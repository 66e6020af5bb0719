"""Recovery codes: their form, their digests, and the cost of a guess."""

import base64
import re
import secrets
from itertools import chain, cycle

import bcrypt
import pytest

from wsgiauth import Settings
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication.one_time import digest
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.recovery_codes import ROUNDS

pytestmark = pytest.mark.every_database

UNKNOWN = "ABCD-EFGH-JKMN"


@pytest.fixture
def codes(ada):
    return recovery_codes.replace(ada, rounds=4)


@pytest.fixture
def costs(monkeypatch):
    """Return the costs of the bcrypts that are computed."""
    compute, found = bcrypt.hashpw, []

    def count(password, salt):
        found.append(int(salt[4:6]))
        return compute(password, salt)

    monkeypatch.setattr(bcrypt, "hashpw", count)
    return found


def give_former(user):
    """Give the user a code as former versions made and stored it."""
    code = base64.b32encode(secrets.token_bytes(15)).decode()
    OneTimeSecret.insert(
        id=digest(code), purpose="recovery", user=user.id, expires_at=2**62
    ).execute()
    return "-".join(re.findall("....", code))


@pytest.mark.promise(54)
def test_the_database_has_bcrypt_hashes_that_share_the_salt_of_the_set(ada, codes):
    assert len(set(codes)) == 10
    assert all(re.fullmatch("(-?[0-9A-HJKMNP-TV-Z]{4}){3}", each) for each in codes)
    ids = [row.id for row in OneTimeSecret.select()]
    assert len(set(ids)) == 10
    (salt,) = {each[:29] for each in ids}
    assert salt.startswith("$2b$04$")
    recovery_codes.replace(ada, rounds=4)
    assert not OneTimeSecret.get().id.startswith(salt)


def test_look_alikes_and_separators_are_read_as_they_were_meant(ada, monkeypatch):
    for code in ("OI23 4567 89AB", "ol23-4567\u201389ab", " 0123456789ab\t"):
        characters = chain("0123456789AB", cycle("CDEFGHJKMNPQRSTVWXY"))
        monkeypatch.setattr(secrets, "choice", lambda _, given=characters: next(given))
        recovery_codes.replace(ada, rounds=4)
        assert recovery_codes.use(ada, code), code


def test_a_string_that_cannot_be_a_code_costs_nothing(ada, codes, costs):
    texts = ["", "ABCD-EFGH-JKM", "ABCD-EFGH-JKMU", "ABCD-EFGH-JKM\0", "ABCD-EFGH-JKM\ud800"]
    assert [each for each in texts if recovery_codes.use(ada, each)] == []
    assert costs == []


@pytest.mark.promise(54)
def test_a_wrong_code_costs_one_bcrypt_whatever_codes_the_user_has(ada, costs, monkeypatch):
    monkeypatch.setattr(recovery_codes, "NUMBER", 2)  # of this cost, ten would take longest
    for prepare in (lambda _: None, give_former, recovery_codes.replace):
        prepare(ada)
        costs.clear()
        assert not recovery_codes.use(ada, UNKNOWN)
        assert costs == [ROUNDS] == [8]


def test_a_former_code_works_until_it_is_used_or_replaced(ada, costs):
    code, other = give_former(ada), give_former(ada)
    assert recovery_codes.use(ada, code.lower().replace("o", "0").replace("i", "1"))
    assert not recovery_codes.use(ada, code)
    assert costs == []
    recovery_codes.replace(ada, rounds=4)
    assert not recovery_codes.use(ada, other)
    assert recovery_codes.count(ada) == 10


def test_where_passwords_cost_less_codes_do_too():
    assert recovery_codes.rounds_of_site(Settings(BCRYPT_ROUNDS=4)) == 4
    assert recovery_codes.rounds_of_site(Settings(BCRYPT_ROUNDS=14)) == ROUNDS
