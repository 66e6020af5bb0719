"""Views of a Django site, for all tests of the adapter."""

from time import perf_counter

from django.contrib import admin
from django.contrib.auth import authenticate, get_user_model, login, logout
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.mixins import (
    LoginRequiredMixin,
    PermissionRequiredMixin,
    UserPassesTestMixin,
)
from django.contrib.auth.models import User
from django.contrib.auth.views import LogoutView
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.template import engines
from django.urls import include, path
from django.utils.cache import patch_cache_control
from django.utils.decorators import method_decorator
from django.views import View

from wsgiauth import find_user, log_in, log_out
from wsgiauth.contrib import django as wsgiauth_django

OTHER_BACKEND = "django.contrib.auth.backends.ModelBackend"
TEMPLATE = (
    "{{ user.username }}{% if perms.blog.add_post %} add_post{% endif %}"
    "{% if perms.blog %} blog{% endif %}{% if perms.shop %} shop{% endif %}"
)


def who(request):
    user = request.user
    seen = {"user": None}
    if user.is_authenticated:
        seen = {
            "user": user.username,
            "email": user.email,
            "row": user.pk,
            "rights": [user.is_active, user.is_staff, user.is_superuser],
        }
    response = JsonResponse(seen)
    if "max-age" in request.GET:
        patch_cache_control(response, max_age=int(request.GET["max-age"]))
    return response


async def who_later(request):
    user = await request.auser()
    return JsonResponse({"user": user.username or None})


def form(request):
    return HttpResponse(get_token(request))


def note(request):
    """Store a word in Django's session, and answer with all of its words."""
    words = request.session.get("words", [])
    if "word" in request.GET:
        request.session["words"] = words = [*words, request.GET["word"]]
    return JsonResponse({"words": words})


def page(request):
    return HttpResponse(engines["django"].from_string(TEMPLATE).render({}, request))


def stream(request):
    return StreamingHttpResponse(iter(lambda: request.user.username.encode(), b""))


def twice(request):
    return StreamingHttpResponse(request.user.username for _ in range(2))


def groups(request):
    """Name the groups and permissions of Django's own that the user has."""
    names = "{{ user.groups.count }}{% for each in user.groups.all %} {{ each.name }}{% endfor %}"
    rights = [each.codename for each in request.user.user_permissions.all()]
    text = engines["django"].from_string(names).render({}, request)
    return JsonResponse({"groups": text, "rights": rights})


def save(request):
    request.user.first_name = request.GET["name"]
    request.user.save()
    request.user.refresh_from_db()
    return who(request)


def sign_on(request):
    """Log in a row of Django's, as a backend for single sign-on does."""
    row, _ = User.objects.get_or_create(username=request.GET["name"])
    login(request, row, backend=OTHER_BACKEND)
    return JsonResponse({"user": request.user.username})


def sign_on_and_fail(request):
    sign_on(request)
    raise RuntimeError


def leave_and_return(request):
    row = get_user_model().objects.get(pk=request.user.pk)
    logout(request)
    login(request, row, backend=OTHER_BACKEND)
    return JsonResponse({"user": request.user.username})


def leave_by_wsgiauth(request):
    """Log the user out, and the one of the query in, by functions of wsgiauth."""
    seen = [request.user.username]
    log_out(request.META)
    seen.append(request.user.username)
    log_in(request.META, find_user(request.GET["name"]))
    return JsonResponse({"seen": [*seen, request.user.username]})


def with_password(request):
    return JsonResponse({"user": str(authenticate(request, **request.GET.dict()))})


class Members(LoginRequiredMixin, View):
    def get(self, request):
        return who(request)


class Writers(PermissionRequiredMixin, View):
    permission_required = ("blog.add_post",)

    def get(self, request):
        return who(request)


class Staff(UserPassesTestMixin, View):
    def test_func(self):
        return self.request.user.is_staff

    def get(self, request):
        return who(request)


@method_decorator(wsgiauth_django.login_required(fresh=True), name="dispatch")
class Recent(View):
    def get(self, request):
        return who(request)


urlpatterns = [
    path("guarded", wsgiauth_django.login_required(who)),
    path("guarded-later", wsgiauth_django.login_required(who_later)),
    path("guarded-writer", wsgiauth_django.permission_required("blog.add_post")(who)),
    path("recent", Recent.as_view()),
    path("proven", wsgiauth_django.login_required(second_factor=True)(who)),
    path("who", who),
    path("who-later", who_later),
    path("form", form),
    path("note", note),
    path("page", page),
    path("twice", twice),
    path("stream", stream),
    path("groups", groups),
    path("save", save),
    path("sign-on", sign_on),
    path("sign-on-and-fail", sign_on_and_fail),
    path("time", lambda request: HttpResponse(perf_counter())),
    path("cookies", lambda request: JsonResponse(request.COOKIES)),
    path("leave-and-return", leave_and_return),
    path("leave-by-wsgiauth", leave_by_wsgiauth),
    path("with-password", with_password),
    path("member", login_required(who)),
    path("writer", permission_required("blog.add_post", raise_exception=True)(who)),
    path("class", Members.as_view()),
    path("writers", Writers.as_view(raise_exception=True)),
    path("staff", Staff.as_view(raise_exception=True)),
    path("refused", lambda request: HttpResponse(status=401)),
    path("logout", LogoutView.as_view(next_page="/who")),
    path("accounts/", include("django.contrib.auth.urls")),
    path("admin/", admin.site.urls),
]


class Generous(ModelBackend):
    """Another backend, which Django's permissions are asked of."""


def function(get_response):
    """Middleware that is no class."""
    return get_response
