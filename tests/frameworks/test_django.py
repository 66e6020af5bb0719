"""Django's own user, session and CSRF protection beside wsgiauth's login."""

from types import ModuleType

import pytest

from tests.frameworks.conftest import Visitor
from tests.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth import User

CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}


@pytest.fixture
def site(recipe):
    """Return the recipe's module, with a page about the user and a form added to its paths."""
    module = recipe("django")
    from django.http import HttpResponse, JsonResponse
    from django.middleware.csrf import get_token
    from django.test import override_settings
    from django.urls import path

    def user(request):
        user = request.user
        return JsonResponse(
            {"user": user.username, "rights": [user.is_active, user.is_staff, user.is_superuser]}
            if user.is_authenticated
            else {"user": None}
        )

    def form(request):
        return HttpResponse(get_token(request))

    paths = ModuleType("paths")
    paths.urlpatterns = [path("user", user), path("form", form), *module.urlpatterns]
    with override_settings(ROOT_URLCONF=paths):
        yield module


@pytest.fixture
def visitor(site):
    return Visitor(site.application)


def people(name):
    from django.contrib.auth.models import User

    return User.objects.filter(username__iexact=name)


def register(visitor, name):
    account = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
    visitor.post_json("/auth/register", account, status="*")  # or has done so, in another test


def test_the_user_is_made_at_first_sight_and_only_once(visitor):
    register(visitor, "Byron")
    bearer = visitor.bearer("Byron")
    assert not people("byron").exists()
    for _ in range(2):
        visitor.get("/user", headers=bearer)
    assert people("byron").get().username == "Byron"


def test_a_name_that_is_logged_in_with_in_another_case_is_the_same_user(visitor):
    register(visitor, "Charles")
    for name in ("Charles", "CHARLES", "charles"):
        assert visitor.get("/user", headers=visitor.bearer(name)).json["user"] == "Charles"
    assert people("charles").count() == 1


def test_the_email_is_a_name_to_log_in_with_and_no_user_of_its_own(visitor):
    assert visitor.get("/user", headers=visitor.bearer(EMAIL)).json["user"] == USERNAME


def test_rights_are_those_of_the_account_on_every_request(visitor):
    visitor.log_in("/account")
    ada = User.objects.get(username=USERNAME)
    for rights in ([True, False], [True, True], [False, False]):
        ada.is_staff, ada.is_superuser = rights
        ada.save()
        assert visitor.get("/user").json["rights"] == [True, *rights]
    assert list(people(USERNAME).values_list("is_staff", "is_superuser")) == [(False, False)]


def test_whom_django_has_deactivated_is_nobody_to_it_whatever_their_rights(visitor):
    register(visitor, "Percy")
    visitor.log_in("/account", "Percy")
    account = User.objects.get(username="Percy")
    account.is_superuser = True
    account.save()
    people("percy").update(is_active=False)
    assert visitor.get("/user").json == {"user": None}
    visitor.get("/members/news", status=401)
    people("percy").update(is_active=True)  # for the next time


def test_whoever_has_a_password_of_djangos_is_not_taken_over_by_the_same_name(visitor):
    from django.contrib.auth.models import User as DjangoUser

    row, _ = DjangoUser.objects.get_or_create(username="George")
    row.set_password(PASSWORD)
    row.save()
    register(visitor, "George")
    bearer = visitor.bearer("George")
    assert visitor.get("/user", headers=bearer).json == {"user": None}
    row.set_unusable_password()  # as migration does, once the row is theirs
    row.save()
    assert visitor.get("/user", headers=bearer).json["user"] == "George"


def test_a_name_that_the_database_takes_for_the_same_is_not_the_same(site):
    from django.contrib.auth.models import User as DjangoUser
    from django.core.exceptions import PermissionDenied
    from django.http import HttpRequest

    request = HttpRequest()
    request.META["wsgiauth.user"] = User(username="rené")
    with pytest.raises(PermissionDenied):
        site.Backend().configure_user(request, DjangoUser(username="rene"), created=False)


def test_djangos_session_alone_logs_nobody_in(visitor):
    visitor.log_in("/account")
    session = {"Cookie": f"sessionid={visitor.cookies['sessionid']}"}
    visitor.reset()
    assert visitor.get("/user", headers=session).json == {"user": None}


def test_a_logout_ends_djangos_session_too(visitor):
    visitor.log_in("/account")
    visitor.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert "sessionid" in visitor.cookies
    assert visitor.get("/user").json == {"user": None}
    assert "sessionid" not in visitor.cookies


def test_who_logs_in_next_in_the_same_browser_is_somebody_else(visitor):
    register(visitor, "Mary")
    visitor.log_in("/account")
    visitor.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    page = visitor.log_in("/account", "Mary")
    assert page.json == visitor.get("/").json == {"user": "Mary"}


def test_a_token_speaks_for_its_user_in_another_ones_browser(visitor):
    register(visitor, "Mary")
    bearer = visitor.bearer("Mary")
    visitor.log_in("/account")
    assert visitor.get("/", headers=bearer).json == {"user": "Mary"}
    assert visitor.get("/").json == {"user": USERNAME}


def test_a_token_leaves_no_session_in_the_database(visitor):
    from django.db import connection

    visitor.get("/user", headers=visitor.bearer())
    assert "django_session" not in connection.introspection.table_names()


def test_djangos_forms_keep_their_protection(visitor):
    visitor.log_in("/account")
    token = visitor.get("/form").text
    visitor.post("/form", {"csrfmiddlewaretoken": token}, headers=SAME_ORIGIN, status=200)
    visitor.post("/form", headers=SAME_ORIGIN, status=403)


def test_another_site_posts_as_nobody(visitor):
    visitor.log_in("/account")
    visitor.post("/user", headers=CROSS_SITE, status=403)
    assert visitor.get("/user").json["user"] == USERNAME


def test_login_required_sends_programs_to_the_login_page_too(visitor):
    assert visitor.get("/account", status=302).location == "/auth/login?next=/account"
    visitor.get("/members/news", headers=BROWSER, status=302)
    visitor.get("/members/news", status=401)
