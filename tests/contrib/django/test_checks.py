"""`manage.py check`, and the sentences when something is missing."""

import asyncio

import pytest
from webtest import TestApp

AUTH = "django.contrib.auth.middleware.AuthenticationMiddleware"
OURS = "wsgiauth.contrib.django.WSGIAuthMiddleware"
BACKEND = "wsgiauth.contrib.django.WSGIAuthBackend"
DJANGOS = "django.contrib.auth.backends.ModelBackend"
SESSIONS = "django.contrib.sessions.middleware.SessionMiddleware"


def ids(**overridden):
    from django.core.checks import run_checks
    from django.test import override_settings

    with override_settings(**overridden):
        return {each.id for each in run_checks() if each.id.startswith("wsgiauth.")}


def test_a_correct_site_has_no_message(site):
    assert ids() == set()
    assert ids(AUTHENTICATION_BACKENDS=[BACKEND, DJANGOS]) == set()


@pytest.mark.parametrize(
    "middleware",
    [[SESSIONS, AUTH], [SESSIONS, OURS, AUTH], [SESSIONS, OURS], [SESSIONS, AUTH, OURS, OURS]],
    ids=["missing", "before", "alone", "twice"],
)
def test_middleware_in_the_wrong_place_is_named_and_does_not_start(site, middleware):
    from django.core.exceptions import ImproperlyConfigured
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings

    assert ids(MIDDLEWARE=middleware) == {"wsgiauth.E001"}
    if OURS in middleware:
        with (
            override_settings(MIDDLEWARE=middleware),
            pytest.raises(ImproperlyConfigured, match="after Django's AuthenticationMiddleware"),
        ):
            get_wsgi_application()


@pytest.mark.parametrize("backends", [[], [DJANGOS], [DJANGOS, BACKEND]])
def test_a_backend_that_is_missing_or_not_the_first_is_named(site, backends):
    from django.core.checks import run_checks
    from django.test import override_settings

    with override_settings(AUTHENTICATION_BACKENDS=backends):
        (found,) = [each for each in run_checks() if each.id.startswith("wsgiauth.")]
    assert found.id == "wsgiauth.E002"
    assert f'Write AUTHENTICATION_BACKENDS = ["{BACKEND}"]' in found.hint


def test_a_missing_wsgi_application_is_named(site):
    assert ids(WSGI_APPLICATION=None) == {"wsgiauth.W003"}


def test_a_function_can_be_middleware(site):
    assert ids(MIDDLEWARE=[SESSIONS, AUTH, OURS, "tests.contrib.django.views.function"]) == set()


def test_without_auth_middleware_a_request_says_what_to_write(site):
    from django.core.exceptions import ImproperlyConfigured
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings

    with (
        override_settings(DEBUG_PROPAGATE_EXCEPTIONS=True),
        pytest.raises(ImproperlyConfigured, match="WSGI_APPLICATION = "),
    ):
        TestApp(get_wsgi_application()).get("/who")


@pytest.mark.parametrize("value", [None, "django.core.wsgi.get_wsgi_application"])
def test_tools_say_so_too(site, value):
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import call_command
    from django.test import override_settings

    with (
        override_settings(WSGI_APPLICATION=value),
        pytest.raises(ImproperlyConfigured, match="No AuthMiddleware is around Django"),
    ):
        call_command("sync_wsgiauth")


def test_an_asynchronous_django_is_refused_with_a_sentence(site):
    from django.core.exceptions import ImproperlyConfigured
    from django.test import AsyncClient

    with pytest.raises(ImproperlyConfigured, match="an asynchronous Django"):
        asyncio.run(AsyncClient().get("/who"))


def test_another_name_is_not_in_the_package(site):
    from wsgiauth.contrib import django

    assert {"WSGIAuthBackend", "WSGIAuthMiddleware"} <= set(django.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        django.Nothing  # noqa: B018 - the name is the test
