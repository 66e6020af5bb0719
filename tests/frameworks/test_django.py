"""Django's own user, session and CSRF protection beside wsgiauth's login."""

from contextlib import suppress
from types import ModuleType

import pytest

from tests.frameworks.conftest import PROGRAMS, Visitor
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth import User

BACKEND = "django.contrib.auth.backends.ModelBackend"
CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}


@pytest.fixture
def site(recipe):
    """Return the recipe's module, with a page about the user and a form added to its paths."""
    module = recipe("django")
    from django.contrib.auth.views import LogoutView
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
    paths.urlpatterns = [
        path("user", user),
        path("form", form),
        path("logout", LogoutView.as_view(next_page="/")),
        *module.urlpatterns,
    ]
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
    register(visitor, "Boss")
    User.update(is_superuser=True).where(User.username == "Boss").execute()
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
    row.set_unusable_password()  # which says nothing of whose the row is
    row.save()
    assert visitor.get("/user", headers=bearer).json == {"user": None}
    row.password = f"!wsgiauth {User.objects.get(username='George').id}"  # as migration does
    row.save()
    assert visitor.get("/user", headers=bearer).json["user"] == "George"


def rename(name, new_name):
    account = User.objects.get(username=name)
    account.username = new_name
    account.save()


def test_a_row_stays_with_its_account_when_names_change_hands(visitor):
    register(visitor, "Emmy")
    register(visitor, "Mallory")
    headers = {name: visitor.bearer(name) for name in ("Emmy", "Mallory")}
    rows = {}
    for name in headers:
        visitor.get("/user", headers=headers[name])
        rows[name] = people(name).get().pk
    rename("Emmy", "Countess")
    rename("Mallory", "Emmy")
    assert visitor.get("/user", headers=headers["Mallory"]).json["user"] == "Emmy"
    assert people("Emmy").get().pk == rows["Mallory"]
    assert visitor.get("/user", headers=headers["Emmy"]).json["user"] == "Countess"
    assert people("Countess").get().pk == rows["Emmy"]


def test_the_name_of_a_deleted_account_brings_no_row_with_it(visitor):
    register(visitor, "Lise")
    visitor.get("/user", headers=visitor.bearer("Lise"))
    row = people("Lise").get()
    User.objects.get(username="Lise").delete_instance()
    register(visitor, "Lise")
    visitor.get("/user", headers=visitor.bearer("Lise"))
    assert people("Lise").get().pk != row.pk
    row.refresh_from_db()
    assert row.username.startswith("@")


def test_two_first_requests_at_the_same_moment_make_one_row(visitor, site, monkeypatch):
    from django.contrib.auth.models import User as DjangoUser

    register(visitor, "Sophie")
    account, save = User.objects.get(username="Sophie"), DjangoUser.save

    def save_second(row, **options):
        monkeypatch.setattr(DjangoUser, "save", save)
        DjangoUser.objects.create(username="Sophie", password=f"!wsgiauth {account.id}")
        save(row, **options)

    monkeypatch.setattr(DjangoUser, "save", save_second)
    assert visitor.get("/user", headers=visitor.bearer("Sophie")).json["user"] == "Sophie"
    assert people("Sophie").count() == 1


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


# Django's own logout, and its admin


def test_djangos_own_logout_ends_the_login(visitor):
    visitor.log_in("/account")
    kept = {"Cookie": f"wsgiauth={visitor.cookies['wsgiauth']}"}
    form = {"csrfmiddlewaretoken": visitor.get("/form").text}
    sent = visitor.post("/logout", form, headers=SAME_ORIGIN, status=302)
    assert "no-store" in sent.headers["Cache-Control"]
    assert "wsgiauth" not in visitor.cookies
    assert visitor.get("/user", headers=kept).json == {"user": None}


def test_another_login_of_djangos_starts_ours(visitor, site, request):
    from django.contrib.auth import login
    from django.contrib.auth.models import User as DjangoUser
    from django.contrib.auth.signals import user_logged_in
    from django.http import HttpResponse
    from django.test import override_settings
    from django.urls import path

    def single_sign_on(request):
        user, _ = DjangoUser.objects.get_or_create(username=request.GET["name"])
        login(request, user, backend=BACKEND)
        return HttpResponse(request.META.get("REMOTE_USER", "-"))

    program = {}
    exec(PROGRAMS["django_login"], program)  # noqa: S102 - the page's
    request.addfinalizer(lambda: user_logged_in.disconnect(program["start_login"]))
    register(visitor, "Annabella")
    paths = ModuleType("sign_on_paths")
    paths.urlpatterns = [path("sign-on", single_sign_on), *site.urlpatterns]
    backends = [*site.settings.AUTHENTICATION_BACKENDS, BACKEND]
    with override_settings(ROOT_URLCONF=paths, AUTHENTICATION_BACKENDS=backends):
        visitor.get("/", headers=visitor.bearer("Annabella"))
        visitor.reset()
        assert visitor.get("/sign-on?name=Stranger").text == "-"
        assert visitor.get("/sign-on?name=Annabella").text == "Annabella"
        assert visitor.get("/auth/me").json["username"] == "Annabella"
        assert visitor.get("/account").json == {"user": "Annabella"}
        assert visitor.get("/sign-on?name=Annabella").text == "Annabella"


TEMPLATES = {
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {
        "context_processors": [
            "django.template.context_processors.request",
            "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]
    },
}


@pytest.fixture
def admin(site):
    """Return a function that gives the site Django's admin; the visitor is on its staff."""
    from django.contrib import admin
    from django.core.management import call_command
    from django.test import override_settings

    paths = ModuleType("admin_paths")
    apps = ["django.contrib.admin", "django.contrib.messages"]

    def open_admin(program):
        exec(program, vars(paths))  # noqa: S102 - the page's, or ours
        visitor = Visitor(site.application)
        register(visitor, "Augusta")
        account = User.objects.get(username="Augusta")
        account.is_staff = account.is_superuser = True
        account.save()
        return visitor

    with override_settings(
        INSTALLED_APPS=[*site.settings.INSTALLED_APPS, *apps],
        TEMPLATES=[TEMPLATES],
        ROOT_URLCONF=paths,
    ):
        call_command("migrate", verbosity=0)
        yield open_admin
        with suppress(AttributeError):  # of a test without the recipe
            del admin.site.login


WITHOUT_RECIPE = """
from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
"""


def test_without_the_recipe_the_admins_login_page_accepts_no_password(admin):
    visitor = admin(WITHOUT_RECIPE)
    page = visitor.get("/admin/", headers=BROWSER, status=302).follow(status=200)
    page.form["username"], page.form["password"] = "Augusta", PASSWORD
    assert "enter the correct username" in page.form.submit(headers=SAME_ORIGIN, status=200)


def test_the_admin_uses_our_login_page_and_its_logout_ends_our_login(admin):
    visitor = admin(PROGRAMS["django_admin"])
    sent = visitor.get("/admin/", headers=BROWSER, status=302).follow(status=302)
    form = sent.follow(headers=BROWSER).form
    form["username"], form["password"] = "Augusta", PASSWORD
    page = form.submit(headers=SAME_ORIGIN, status=303).follow(status=302).follow(status=200)
    assert page.request.path == "/admin/"
    page.forms["logout-form"].submit(headers=SAME_ORIGIN, status=200)
    visitor.get("/admin/", status=302)
