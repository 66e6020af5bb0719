"""Django's login pages, its admin and LOGIN_URL lead to the pages of wsgiauth."""

import pytest
from webtest import TestApp

from tests.frameworks.conftest import Visitor
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import testing

PAGES = [
    ("/accounts/login/", "/auth/login"),
    ("/accounts/login/?next=/note", "/auth/login?next=%2Fnote"),
    ("/accounts/password_change/", "/auth/password"),
    ("/accounts/password_reset/", "/auth/forgot"),
    ("/accounts/reset/MQ/set-password/", "/auth/forgot"),
    ("/admin/login/", "/auth/login?next=%2Fadmin%2F"),
    ("/admin/login/?next=/admin/auth/", "/auth/login?next=%2Fadmin%2Fauth%2F"),
    ("/admin/password_change/", "/auth/password"),
    ("/member", "/auth/login?next=/member"),
]


@pytest.mark.parametrize(("path", "page"), PAGES)
def test_djangos_pages_redirect_to_those_of_wsgiauth(visitor, path, page):
    assert visitor.get(path, headers=BROWSER, status=302).location == page


@pytest.mark.parametrize(("path", "page"), PAGES)
def test_the_prefix_of_the_site_is_part_of_the_url(site, path, page):
    client = TestApp(site.application, extra_environ={"SCRIPT_NAME": "/pre"})
    page = page.replace("=%2F", "=%2Fpre%2F") if path.startswith("/admin/login/") else page
    page = page.replace("=/", "=/pre/")
    path = path.replace("=/", "=/pre/") if "admin" in path else path
    assert client.get(path, headers=BROWSER, status=302).location == f"/pre{page}"


def test_without_a_request_login_url_has_the_prefix_of_the_script(site):
    from django.conf import settings
    from django.urls import set_script_prefix

    for prefix in ("/pre/", "/"):
        set_script_prefix(prefix)
        assert f"{prefix}auth/login" == settings.LOGIN_URL


def test_the_admin_logs_in_and_out_by_wsgiauth(site, make):
    user = make("augusta", is_staff=True, is_superuser=True, password=PASSWORD)
    visitor = Visitor(site.application)
    sent = visitor.get("/admin/", headers=BROWSER, status=302).follow(status=302)
    form = sent.follow(headers=BROWSER).forms[0]
    form["username"], form["password"] = user.username, PASSWORD
    page = form.submit(headers=SAME_ORIGIN, status=303).follow(status=200)
    assert page.request.path == "/admin/"
    assert visitor.get("/admin/login/", status=302).location == "/admin/"
    page.forms["logout-form"].submit(headers=SAME_ORIGIN, status=200)
    visitor.get("/admin/", status=302)


def test_the_admin_is_for_the_staff_alone(browser, make):
    client = browser(make(is_superuser=True))
    sent = client.get("/admin/", status=302)
    client.get(sent.location, status=403)


def test_the_admin_shows_what_permissions_of_wsgiauth_allow(browser, make):
    user = make(is_staff=True, permissions=["auth.view_group", "auth.add_group"])
    client = browser(user)
    assert "/admin/auth/group/add/" in client.get("/admin/")
    client.get("/admin/auth/user/", status=403)
    form = client.get("/admin/auth/group/add/").forms["group_form"]
    form["name"] = f"group of {user.username}"
    form.submit(headers=SAME_ORIGIN, status=302)
    assert f"group of {user.username}" in client.get("/admin/auth/group/")


def test_login_required_middleware_lets_only_users_in(site, make, browser, visitor):
    middleware = pytest.importorskip("django.contrib.auth.middleware")
    if not hasattr(middleware, "LoginRequiredMiddleware"):
        pytest.skip("Django 5.1 has it first")
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings

    name = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    with override_settings(MIDDLEWARE=[*site.settings.MIDDLEWARE, name]):
        guarded = site.application.around(get_wsgi_application())
    client = TestApp(guarded)
    assert client.get("/who", status=302).location == "/auth/login?next=/who"
    assert client.get("/accounts/login/", status=302).location == "/auth/login"
    user = make()
    headers = testing.bearer(site.application, user)
    assert client.get("/who", headers=headers).json["user"] == user.username


@pytest.mark.parametrize("path", ["/auth/health/live", "/auth/health/ready"])
def test_django_has_the_probes_of_health(site, path):
    assert TestApp(site.application).get(path, status=200).json == {"status": "ok"}
