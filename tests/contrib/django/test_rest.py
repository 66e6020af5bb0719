"""Django REST framework: the user of a token, of a key and of the cookie, with Django's CSRF."""

import pytest
from webtest import TestApp

from tests.conftest import require
from tests.support.sites import SAME_ORIGIN


@pytest.fixture(scope="module")
def api(site):
    """Return a client of an API; its `get` and `post` answer with the caller."""
    require("rest_framework")
    from types import ModuleType

    from django.contrib.auth import logout
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings
    from django.urls import path
    from rest_framework.permissions import DjangoModelPermissions, IsAuthenticated
    from rest_framework.renderers import JSONRenderer
    from rest_framework.response import Response
    from rest_framework.views import APIView

    from tests.contrib.django.views import form
    from wsgiauth.contrib.django.rest import WSGIAuthentication

    class Who(APIView):
        authentication_classes = (WSGIAuthentication,)
        permission_classes = (IsAuthenticated,)
        renderer_classes = (JSONRenderer,)

        def get(self, request):
            return Response({"user": request.user.username})

        post = get

    class Leave(Who):
        def post(self, request):
            logout(request)
            return Response({})

    class Groups(Who):
        permission_classes = (DjangoModelPermissions,)

        def get_queryset(self):
            from django.contrib.auth.models import Group

            return Group.objects.all()

    paths = ModuleType("api_paths")
    paths.urlpatterns = [
        path("form", form),
        path("api/who", Who.as_view()),
        path("api/leave", Leave.as_view()),
        path("api/groups", Groups.as_view()),
    ]
    with override_settings(ROOT_URLCONF=paths):
        yield lambda: TestApp(site.application.around(get_wsgi_application()))


def test_a_token_and_a_key_need_no_csrf_token(api, make, bearer, key):
    user = make()
    for headers in (bearer(user), key(user)):
        for ask in (api().get, api().post):
            assert ask("/api/who", headers=headers).json == {"user": user.username}


@pytest.mark.promise(63)
def test_the_cookie_needs_one(api, make, browser):
    user = make()
    client = api()
    client.cookiejar = browser(user).cookiejar
    assert client.get("/api/who").json == {"user": user.username}
    client.post("/api/who", headers=SAME_ORIGIN, status=403)
    headers = {**SAME_ORIGIN, "X-CSRFToken": client.get("/form").text}
    assert client.post("/api/who", headers=headers).json == {"user": user.username}


def test_an_anonymous_program_is_challenged(api):
    refused = api().get("/api/who", status=401)
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'


def test_permissions_of_models_are_those_of_wsgiauth(api, make, bearer, key):
    user = make(permissions=["auth.add_group"])
    api().post("/api/groups", headers=bearer(user), status=200)
    api().post("/api/groups", headers=key(user, "auth.add_group"), status=200)
    for headers in (bearer(make()), key(user)):
        api().post("/api/groups", headers=headers, status=403)


@pytest.mark.promise(62)
def test_a_logout_in_a_view_of_the_api_ends_the_session(api, make, bearer):
    headers = bearer(make())
    api().post("/api/leave", headers=headers)
    api().get("/api/who", headers=headers, status=401)
