"""`wsgiauth.contrib.django.testing.Client`: tests of Django applications."""

from urllib.parse import urlencode

import pytest

from wsgiauth import User, testing


@pytest.fixture
def client(site):
    from wsgiauth.contrib.django.testing import Client

    return Client()


def test_requests_go_through_auth_middleware(client):
    response = client.get("/who")
    assert response.json() == {"user": None}
    assert response.wsgi_request.path == "/who"
    assert response.resolver_match.route == "who"
    page = client.get("/auth/login")
    assert (page.status_code, page.wsgi_request.path) == (200, "/auth/login")
    assert b'name="password"' in page.content


def test_a_user_of_wsgiauth_is_logged_in(client, make):
    user = make()
    client.force_login(user)
    response = client.get("/who")
    assert response.json()["user"] == user.username
    assert "private" in response["Cache-Control"]
    assert client.get("/who", secure=True).json()["user"] == user.username
    client.logout()
    assert client.get("/who").json() == {"user": None}


@pytest.mark.parametrize("email", ["", "made@example.net"])
def test_a_row_of_djangos_is_logged_in_with_its_flags(client, rows, make, email):
    name = f"{make().username}-row"
    row = rows.objects.create_user(name, email and f"{name}{email}", is_staff=True)
    client.force_login(row)
    assert client.get("/who").json()["row"] == row.pk
    assert client.get("/who").json()["rights"] == [True, True, False]
    client.force_login(row)  # which is connected now
    assert client.get("/who").json()["row"] == row.pk
    assert User.objects.get(username=name).is_staff


def test_a_row_of_the_name_of_a_user_is_connected(client, rows, make):
    user = make(is_staff=True)
    row = rows.objects.create_user(user.username)
    client.force_login(row)
    assert client.get("/who").json()["rights"] == [True, False, False]


def test_the_cookies_of_wsgiauth_and_of_django_are_kept(client, make, site):
    from tests.support.sites import PASSWORD

    user = make(password=PASSWORD)
    form = {"username": user.username, "password": PASSWORD}
    urlencoded = {"content_type": "application/x-www-form-urlencoded"}
    assert client.post("/auth/login", urlencode(form), **urlencoded).status_code == 303
    assert client.get("/note?word=a").json() == client.get("/note").json() == {"words": ["a"]}
    assert client.get("/who").json()["user"] == user.username


@pytest.fixture
def environment(site):
    from django.test.utils import setup_test_environment, teardown_test_environment

    setup_test_environment()  # as `manage.py test` does
    yield
    teardown_test_environment()


def test_exceptions_and_templates_reach_the_test(environment, client, make):
    with pytest.raises(ValueError, match="is not connected"):
        client.get("/sign-on?name=stranger2")
    client.force_login(make(is_staff=True))
    response = client.get("/admin/")
    assert response.context["site_header"] == "Django administration"
    assert "admin/index.html" in [each.name for each in response.templates]


def test_a_challenge_replaces_the_response_of_a_view(client):
    response = client.get("/refused", headers={"accept": "text/html"})
    assert (response.status_code, response["Location"]) == (302, "/auth/login?next=%2Frefused")


def test_the_tools_of_wsgiauth_work_too(client, make, site):
    user = make()
    headers = testing.bearer(site.application, user)
    response = client.get("/who", headers={"authorization": headers["Authorization"]})
    assert response.json()["user"] == user.username
