"""docs/django.md: its site runs, its tests pass, and its checks find nothing."""

import re
import shutil

import pytest

from tests.conftest import require
from tests.docs.accounts import ask, token_of
from tests.docs.pages import PAGES, ROOT, code, commands, section
from tests.support.sites import BROWSER

PAGE = PAGES["docs/django.md"]
PROGRAMS = {
    program.partition("\n")[0].removeprefix("# "): program for program in code(PAGE, "python")
}


FILES = [*(ROOT / "docs/examples/django").glob("*.py")]


@pytest.fixture(autouse=True)
def django():
    require("django")


def test_every_program_is_run():
    assert [name for name in PROGRAMS if name.endswith(".py")] == [
        "settings.py",
        "wsgi.py",
        "urls.py",
        "test_shelf.py",
    ]
    linked = re.findall(r"\]\(examples/django/(.*?\.py)\)", PAGE)
    assert sorted(linked) == sorted(path.name for path in FILES)


def test_the_site_has_at_most_ten_lines_of_ours():
    programs = "".join(PROGRAMS[name] for name in ("settings.py", "wsgi.py", "urls.py"))
    ours = [line for line in programs.splitlines() if re.search("wsgiauth|AuthMiddleware", line)]
    assert 0 < len(ours) <= 10


def test_the_site_of_the_page_is_made_and_served(run, serve):
    (block,) = code(section(PAGE, "Set-up"), "console")
    *exports, check, migrate, create, (command, _) = commands(block)
    export = "\n".join(each for each, _ in exports)
    printed = run("\n".join([export, check[0], migrate[0], create[0]]))
    assert printed.startswith(check[1])
    with serve(command.replace("8080", "$1"), export) as port:
        site = f"http://127.0.0.1:{port}"
        status, page = ask(f"{site}/shelf", BROWSER)
        assert (status, "Log in" in page) == (200, True)
        headers = token_of(site)
        assert ask(f"{site}/shelf", headers) == (200, "The books of ada")
        assert ask(f"{site}/lend", headers) == (200, "Lent")
        assert "Site administration" in ask(f"{site}/admin/", {**headers, **BROWSER})[1]


OURS = "wsgiauth.contrib.django"
STARTED = f"""
django-admin startproject mysite .
cd mysite
sed -i "s/^from pathlib/import os\\n&/" settings.py
sed -i "s/^SECRET_KEY = .*/SECRET_KEY = os.environ['SECRET_KEY']/" settings.py
sed -i "s/^INSTALLED_APPS = \\[/&'{OURS}',/" settings.py
sed -i "s/^.*AuthenticationMiddleware',/& '{OURS}.WSGIAuthMiddleware',/" settings.py
echo 'AUTHENTICATION_BACKENDS = ["{OURS}.WSGIAuthBackend"]' >> settings.py
sed -i "s/get_wsgi_application()/AuthMiddleware(&)/" wsgi.py
sed -i "1i from wsgiauth import AuthMiddleware" wsgi.py
echo 'from webtest import TestApp' >> wsgi.py
echo 'print(TestApp(application).get("/admin/login/").location)' >> wsgi.py
cd ..
python -Wignore manage.py check
python -Wignore -m mysite.wsgi
"""


def test_a_project_of_startproject_needs_no_more_than_the_page_says(run):
    assert '`SECRET_KEY = os.environ["SECRET_KEY"]`, with `import os` above' in PAGE
    checked, page = run(STARTED).splitlines()
    assert checked == "System check identified no issues (0 silenced)."
    assert "/auth/login" in page


SIGN_ON = """
import urls
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import TestCase
from django.urls import path
from fines import Fines, lend_all
from signed_on import sign_on

from wsgiauth.contrib.django.testing import Client


def enter(request):
    sign_on(request, "mary", "mary@example.org")
    return HttpResponse("welcome")


urls.urlpatterns += [
    path("enter", enter),
    path("lend-all", lend_all),
    path("fines", Fines.as_view()),
]


class SignOnTests(TestCase):
    client_class = Client

    def test_a_person_who_signs_on_is_logged_in(self):
        self.client.get("/enter")
        self.assertContains(self.client.get("/shelf"), "The books of mary")

    def test_the_sensitive_views_are_guarded(self):
        for path in ("/lend-all", "/fines"):
            self.assertEqual(self.client.get(path).status_code, 401)
        self.client.force_login(get_user_model().objects.create_user("barbara"))
        self.assertEqual(self.client.get("/lend-all").status_code, 403)
        self.assertIn("acr_values", self.client.get("/fines")["WWW-Authenticate"])
"""


def test_the_tests_of_the_page_and_those_of_signing_on_pass(run, folder):
    for path in FILES:
        shutil.copy(path, folder)
    (folder / "test_enter.py").write_text(SIGN_ON, encoding="utf-8")
    for path in folder.glob("test_*.py"):
        if path.name not in ("test_shelf.py", "test_enter.py"):
            path.unlink()  # of other pages
    (block,) = code(section(PAGE, "Tests"), "console")
    ((command, _),) = commands(block)
    printed = run(f"export DJANGO_SETTINGS_MODULE=settings\n{command} 2>&1")
    assert "Ran 5 tests" in printed
    assert "OK" in printed
