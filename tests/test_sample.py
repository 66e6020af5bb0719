"""The sample site: what a person meets on a walk through it, and how it starts."""

import importlib
import sys

import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth import AuthMiddleware


@pytest.fixture
def sample(monkeypatch, settings):
    """Return the sample's module, made from a test's settings."""
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    monkeypatch.setenv("SECRET_KEY", settings.SECRET_KEY)
    monkeypatch.delitem(sys.modules, "sample_wsgi", raising=False)
    return importlib.import_module("sample_wsgi")


@pytest.fixture
def site(sample, settings):
    """Return the sample site, wrapped, with cheap hashes."""
    return AuthMiddleware(sample.site, settings)


@pytest.fixture
def visitor(site, ada):
    """Return a person's browser."""
    return TestApp(site, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]})


def log_in(visitor, page):
    form = visitor.get(page, status=302).follow().form
    form["username"], form["password"] = USERNAME, PASSWORD
    return form.submit(headers=SAME_ORIGIN, status=303).follow(status="*")


def test_a_stranger_is_welcome_at_home(visitor):
    assert "You are not logged in." in visitor.get("/")


def test_a_member_is_sent_to_log_in_and_back(visitor, ada):
    page = log_in(visitor, "/members")
    assert page.request.path == "/members"
    assert "<strong>Ada</strong>, a member since" in page
    assert "logged in as <strong>Ada</strong>" in visitor.get("/")


def test_reports_need_a_permission(visitor, ada):
    assert log_in(visitor, "/reports").status_int == 403
    ada.grant("reports.publish")
    assert "you can publish reports" in visitor.get("/reports")


def test_the_staff_page_is_for_staff(visitor, ada):
    assert log_in(visitor, "/staff").status_int == 403
    ada.is_staff = True
    ada.save()
    assert "you belong to the staff" in visitor.get("/staff")


def test_the_button_logs_out(visitor):
    page = log_in(visitor, "/members")
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == "/"
    visitor.get("/members", status=302)


def test_other_addresses_are_not_found(visitor):
    visitor.get("/nowhere", status=404)


@pytest.mark.parametrize("key", [None, ""], ids=["no key", "empty key"])
def test_without_a_key_it_makes_one_and_says_so(monkeypatch, capsys, settings, key):
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    monkeypatch.delitem(sys.modules, "sample_wsgi", raising=False)
    monkeypatch.delenv("SECRET_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("SECRET_KEY", key)
    importlib.import_module("sample_wsgi")
    assert capsys.readouterr().err == (
        "SECRET_KEY is not set: using a random key, so all sessions end when this process ends.\n"
    )


def test_it_serves_itself(sample, monkeypatch):
    import runpy

    import waitress

    served = []
    monkeypatch.setattr(waitress, "serve", lambda app, **options: served.append((app, options)))
    names = runpy.run_path(sample.__file__, run_name="__main__")
    assert served == [(names["app"], {"listen": "127.0.0.1:8080", "threads": 8})]
