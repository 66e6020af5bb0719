"""docs/django.md: its site runs, its tests pass, and its checks find nothing."""

import re

import pytest

from tests.conftest import require
from tests.docs.accounts import ask, token_of
from tests.docs.pages import PAGES, code, commands, section
from tests.support.sites import BROWSER

PAGE = PAGES["docs/django.md"]
PROGRAMS = {
    program.partition("\n")[0].removeprefix("# "): program for program in code(PAGE, "python")
}


@pytest.fixture(autouse=True)
def django():
    require("django")


def test_every_program_is_run():
    assert [name for name in PROGRAMS if name.endswith(".py")] == [
        "settings.py",
        "wsgi.py",
        "urls.py",
        "signed_on.py",
        "fines.py",
        "test_shelf.py",
    ]


def test_the_site_has_at_most_ten_lines_of_ours():
    programs = "".join(PROGRAMS[name] for name in ("settings.py", "wsgi.py", "urls.py"))
    ours = [line for line in programs.splitlines() if re.search("wsgiauth|AuthMiddleware", line)]
    assert 0 < len(ours) <= 10


def test_the_site_of_the_page_is_made_and_served(run, serve):
    (block,) = code(section(PAGE, "Set-up"), "console")
    export, *others, (command, _) = commands(block)
    printed = run("\n".join([export[0], *(each for each, _ in others)]))
    assert printed.startswith(others[0][1])
    with serve(command.replace("8080", "$1"), export[0]) as port:
        site = f"http://127.0.0.1:{port}"
        status, page = ask(f"{site}/shelf", BROWSER)
        assert (status, "Log in" in page) == (200, True)
        headers = token_of(site)
        assert ask(f"{site}/shelf", headers) == (200, "The books of ada")
        assert ask(f"{site}/lend", headers) == (200, "Lent")
        assert "Site administration" in ask(f"{site}/admin/", {**headers, **BROWSER})[1]


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
    (folder / "test_enter.py").write_text(SIGN_ON, encoding="utf-8")
    for path in folder.glob("test_*.py"):
        if path.name not in ("test_shelf.py", "test_enter.py"):
            path.unlink()  # of other pages
    (block,) = code(section(PAGE, "Tests"), "console")
    ((command, _),) = commands(block)
    printed = run(f"export DJANGO_SETTINGS_MODULE=settings\n{command} 2>&1")
    assert "Ran 5 tests" in printed
    assert "OK" in printed
