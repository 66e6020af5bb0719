"""Logins that wait for their second factor."""

import time
from base64 import urlsafe_b64encode
from hashlib import shake_128

import pytest

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import pending


def start(user, destination="", *, remember=False):
    """Return the cookie of a pending login."""
    return pending.start(user, destination=destination, remember=remember, now=time.time())


@pytest.mark.promise(54)
def test_a_pending_login_does_not_print_its_secret(ada):
    cookie = start(ada)
    found = pending.find(cookie, time.time())
    assert repr(found) == f"<Pending login of <User {ada.id} 'Ada'>>"
    assert found.secret not in f"{found} {found!r} {cookie!r}"


def test_the_cookie_and_the_row_keep_where_the_login_leads_and_whether_it_lasts(ada):
    for destination in ("", "/", '/a;b,c?d=%22e"&f=' + "~" * 2000):
        for remember in (True, False):
            cookie = start(ada, destination, remember=remember)
            found = pending.find(cookie, time.time())
            assert found[:1] + found[3:5] == (cookie.tag, destination, remember)
            assert set(cookie.value).isdisjoint(' ",;\\')
            assert len(cookie.value) < 3000  # browsers drop a cookie of more than 4,096 characters


def test_the_cookie_keeps_no_query_that_is_too_long_for_a_cookie(ada):
    signs = urlsafe_b64encode(shake_128(b"").digest(3000)).decode()
    cookie = start(ada, f"/reports?{signs}")
    assert pending.find(cookie, time.time()).destination == "/reports"
    assert len(cookie.value) < 3000


@pytest.mark.promise(54)
def test_the_row_does_not_have_where_the_login_leads(ada):
    start(ada, "/auth/verify?token=canary")
    assert "canary" not in str(OneTimeSecret.get().__data__)


@pytest.mark.promise(18)
def test_a_cookie_that_was_changed_leads_to_no_other_site(ada):
    cookie = start(ada, "/reports")
    secret = cookie.value.rpartition(".")[2]
    other_places = (b"//evil.example", b"/a\r\nb", b"/\xff")
    encoded = [urlsafe_b64encode(each).decode() for each in other_places]
    for changed in (*encoded, "=", "a", "\xe9"):
        value = f"{changed}.{secret}"
        assert pending.find(cookie._replace(value=value), time.time()).destination == "", changed
    assert pending.find(cookie._replace(value=secret), time.time()).destination == ""


@pytest.mark.promise(5)
def test_no_change_of_the_user_comes_between_the_pending_login_and_its_user(ada, queries):
    cookie = start(ada)
    (sent,) = queries(lambda: pending.find(cookie, time.time()).user.security_stamp)
    assert sent.startswith("SELECT")
