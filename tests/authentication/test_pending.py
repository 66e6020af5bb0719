"""Logins that wait for their second factor."""

import time

import pytest

from wsgiauth.authentication import pending


@pytest.mark.promise(54)
def test_a_pending_login_does_not_print_its_secret(ada):
    secret = pending.start(ada, destination="", remember=False, now=time.time())
    found = pending.find(secret, time.time())
    assert repr(found) == f"<Pending login of <User {ada.id} 'Ada'>>"
    assert secret not in f"{found} {found!r}"
