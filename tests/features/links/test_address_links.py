"""Links that prove an email address: what they prove, and when they end."""

import time

import pytest

from tests.support.mails import with_mail
from tests.support.sites import EMAIL, PASSWORD
from wsgiauth import change_password, events
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import ADDRESS
from wsgiauth.authentication import one_time
from wsgiauth.exceptions import TakenError
from wsgiauth.features.links.address_links import (
    make_address_link,
    prove_address,
    read_address_proof,
)

NEW = "ada@example.net"
NOW = time.time()


def token_for(user, settings):
    link = make_address_link(user, NEW, with_mail(settings), mount="/auth", now=NOW)
    return link.removeprefix("https://example.org/auth/verify?token=")


@pytest.fixture
def token(ada, settings):
    return token_for(ada, settings)


def secret_of(token):
    return one_time.find(token, ADDRESS, now=NOW)


@pytest.mark.every_database
@pytest.mark.promise(39)
def test_a_link_proves_its_address_once(token, ada):
    secret = secret_of(token)
    proof = read_address_proof(secret)
    assert proof == (ada, NEW)
    assert [prove_address(proof, secret) for _ in range(2)] == [True, False]
    (user,) = User.select()
    assert (user.email, user.email_verified_at is not None) == (NEW, True)
    assert user.email_verified_by == "link"


@pytest.mark.every_database
def test_a_taken_address_leaves_the_secret_usable(token, settings):
    grace = create_user("Grace", NEW, PASSWORD, settings=settings)
    secret = secret_of(token)
    proof = read_address_proof(secret)
    with pytest.raises(TakenError):
        prove_address(proof, secret)
    delete_user(grace)
    assert prove_address(proof, secret)


@pytest.mark.promise(35)
def test_a_change_that_keeps_the_address_keeps_the_links(token, ada):
    update_user(ada, username="countess", email=EMAIL)
    ada.email = EMAIL
    ada.save()
    assert secret_of(token) is not None


ENDS = {
    "password": lambda ada, settings: change_password(ada, "third bird song", settings=settings),
    "deactivation": lambda ada, settings: update_user(ada, is_active=False),
    "new address": lambda ada, settings: update_user(ada, email="third@example.org"),
    "deletion": lambda ada, settings: delete_user(ada),
}


@pytest.mark.every_database
@pytest.mark.promise(35)
def test_a_change_of_the_user_after_the_link_was_read_wins(ada, settings):
    for name, end in ENDS.items():
        user = User.get_by_id(ada.id)
        update_user(user, is_active=True)
        secret = secret_of(token_for(user, settings))
        proof = read_address_proof(secret)
        end(user, settings)
        assert not prove_address(proof, secret), name
        assert not User.select().where(User.email == NEW).exists(), name


@pytest.mark.promise(35)
def test_a_bulk_query_that_changes_the_address_leaves_a_secret_that_proves_nothing(token):
    User.update(email="third@example.org").execute()
    assert read_address_proof(secret_of(token)) is None


def test_a_refused_proof_emits_no_event(token, ada, database):
    secret = secret_of(token)
    proof = read_address_proof(secret)
    one_time.redeem(token, ADDRESS, now=NOW)
    heard = []
    events.subscribe(database, [heard.append])
    assert not prove_address(proof, secret)
    assert heard == []
