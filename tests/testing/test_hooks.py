"""The webhooks of a site that is tested."""

import threading

import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD
from tests.support.webhook_receiver import Received
from wsgiauth import create_user, delete_user
from wsgiauth.testing import make_user, webhooks

URLS = ("https://billing.example/hook#registration,user_deleted",)


@pytest.fixture
def site(make_site):
    """Return a site with a receiver of two events."""
    return make_site(WEBHOOKS=URLS)


def test_a_test_sees_what_would_be_sent_in_order(site):
    assert webhooks(site) == []
    ada = make_user(site, "ada")
    delete_user(ada)
    first, second = webhooks(site)
    assert (first.url, second.url) == ("https://billing.example/hook",) * 2
    assert [each.document["type"] for each in (first, second)] == ["registration", "user_deleted"]
    assert second.document["data"]["user"] == {"id": ada.id, "username": "ada"}
    assert "billing" not in repr(first)
    (key,) = site.site.settings.WEBHOOK_KEY
    assert Received(first.headers, first.body).verify(key) == first.document


def test_they_need_no_thread_and_no_network(site):
    webhooks(site)
    create_user("grace", "grace@example.org", PASSWORD, settings=site.site.settings)
    TestApp(site).get("/")  # which starts the threads
    assert "wsgiauth-webhooks" not in {each.name for each in threading.enumerate()}
    assert len(webhooks(site)) == 1
    webhooks(site).clear()
    assert len(webhooks(site)) == 1


def test_a_site_without_urls_sends_none(make_site):
    with pytest.raises(ValueError, match="WEBHOOKS"):
        webhooks(make_site())
