"""The sample site: what a person meets on a walk through it, and how it starts."""

import importlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest
from webtest import TestApp

from tests.docs.pages import ROOT
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, free_port
from wsgiauth import AuthMiddleware, Group


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


@pytest.fixture
def run_command(settings):
    """Return a function that runs a command in a shell, on the site's database."""

    def run(command):
        command = f"{command} --database {shlex.quote(settings.DATABASE_URL)}"
        subprocess.run(["sh", "-c", command], check=True, capture_output=True)

    return run


def log_in(visitor, page, username=USERNAME):
    form = visitor.get(page, status=302).follow().form
    form["username"], form["password"] = username, PASSWORD
    return form.submit(headers=SAME_ORIGIN, status=303).follow(status="*")


def pages_to_open(home):
    """Return what the home page says of each page: that this visitor can open it, or who can."""
    return {
        card.h2.text: card.find(class_="access").text.strip() for card in home.html.find_all("li")
    }


def commands(home):
    """Return the commands that let this visitor open the other pages, by page."""
    (folded,) = home.html.find_all("details")
    assert len(home.html.find_all("code")) == len(folded.find_all("code"))
    return {each["data-opens"]: each.code.text for each in folded.select("[data-opens]")}


def test_a_stranger_learns_what_a_login_would_open(visitor):
    home = visitor.get("/")
    assert "Log in to see what is new." in home
    assert pages_to_open(home) == {
        "Members": "For members",
        "Reports": "For editors",
        "Staff": "For the staff",
    }
    assert commands(home) == {}


def test_a_stranger_signs_up_and_is_back_at_home(visitor):
    form = visitor.get("/").click("Create an account").form
    form["username"], form["email"], form["password"] = "Grace", "grace@example.org", PASSWORD
    home = form.submit(headers=SAME_ORIGIN, status=303).follow()
    assert home.request.path == "/"
    assert "It is good to see you, Grace." in home


def test_a_member_learns_who_they_are_and_how_to_open_the_rest(visitor, ada):
    log_in(visitor, "/members")
    home = visitor.get("/")
    assert "It is good to see you, Ada." in home
    assert pages_to_open(home) == {
        "Members": "You can open it",
        "Reports": "For editors",
        "Staff": "For the staff",
    }
    assert commands(home)["Reports"].endswith(" -m wsgiauth join Ada Editors")
    assert commands(home)["Staff"].endswith(" -m wsgiauth set Ada --staff")


def test_without_usernames_people_are_called_by_their_address(sample, settings, run_command):
    site = AuthMiddleware(sample.site, replace(settings, USERNAMES=False))
    visitor = TestApp(site, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]})
    form = visitor.get("/").click("Create an account").form
    form["email"], form["password"] = "grace@example.org", PASSWORD
    home = form.submit(headers=SAME_ORIGIN, status=303).follow()
    assert "It is good to see you, grace@example.org." in home
    run_command(commands(home)["Reports"])
    assert pages_to_open(visitor.get("/"))["Reports"] == "You can open it"


def test_the_staff_is_led_to_the_panel(visitor, ada):
    log_in(visitor, "/members")
    assert "Administration" not in visitor.get("/")
    ada.is_staff = True
    ada.save()
    panel = visitor.get("/").click("Administration")
    assert panel.request.path == "/auth/admin"


def test_the_group_of_the_sample_is_created_once(sample, monkeypatch):
    monkeypatch.delitem(sys.modules, "sample_wsgi")
    importlib.import_module("sample_wsgi")
    assert [(each.name, each.permissions) for each in Group.select()] == [
        ("Editors", {"reports.publish"})
    ]


@pytest.mark.parametrize(
    ("interpreter", "shown"),
    [("site/.venv/bin/python", ".venv/bin/python"), ("other/my python", "'{}/other/my python'")],
    ids=["below the folder", "elsewhere"],
)
def test_the_commands_name_the_interpreter_that_runs(
    monkeypatch, tmp_path, sample, interpreter, shown
):
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "executable", str(tmp_path / interpreter))
    assert sample.interpreter() == shown.format(tmp_path)


def test_the_commands_quote_the_name_for_a_shell(visitor, ada):
    ada.username = "Ada;ls"
    ada.save()
    log_in(visitor, "/members", "Ada;ls")
    found = commands(visitor.get("/"))
    assert found["Staff"].endswith(" -m wsgiauth set 'Ada;ls' --staff")


@pytest.mark.slow
def test_the_commands_of_the_home_page_open_the_rest(visitor, ada, run_command):
    log_in(visitor, "/members")
    for command in commands(visitor.get("/")).values():
        run_command(command)
    home = visitor.get("/")
    assert set(pages_to_open(home).values()) == {"You can open it"}


def test_a_superuser_can_do_everything(visitor, ada):
    ada.is_superuser = True
    ada.save()
    log_in(visitor, "/members")
    assert pages_to_open(visitor.get("/"))["Reports"] == "You can open it"


def test_the_site_is_called_the_same_everywhere(sample):
    visitor = TestApp(sample.app, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]})
    assert visitor.get("/").html.title.text == f"Welcome · {sample.NAME}"
    assert visitor.get("/auth/login").html.title.text == f"Log in · {sample.NAME}"


def test_a_member_is_sent_to_log_in_and_back(visitor, ada):
    page = log_in(visitor, "/members")
    assert page.request.path == "/members"
    assert "Ada, you have been a member since" in page
    assert page.html.find(attrs={"aria-current": "page"}).text == "Members"


@pytest.mark.parametrize("path", ["/members", "/reports", "/staff"])
def test_each_page_shows_a_few_things(visitor, ada, path):
    ada.is_superuser = ada.is_staff = True
    ada.save()
    page = log_in(visitor, path)
    rows = page.html.select(".rows li")
    assert len(rows) > 1
    assert all(each.strong.text for each in rows)


def test_the_header_has_the_name_and_its_first_letter(visitor, ada):
    log_in(visitor, "/members")
    person = visitor.get("/").html.find("a", class_="person")
    assert (person.span.text.strip(), person.strong.text) == ("A", "Ada")
    assert person["href"] == "/auth/account"


def test_a_page_that_cannot_be_opened_leads_home(visitor, ada):
    for path, status in (("/nowhere", 404), ("/staff", 403)):
        if status == 403:
            log_in(visitor, "/members")
        assert visitor.get(path, status=status).click("Home page").request.path == "/"


def test_a_name_is_escaped(visitor, ada):
    ada.username = "<b>Ada</b>"
    ada.save()
    log_in(visitor, "/members", "<b>Ada</b>")
    assert "&lt;b&gt;Ada&lt;/b&gt;, you have been" in visitor.get("/members")


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


def test_the_home_page_names_the_folder_of_mails(sample, monkeypatch, settings):
    assert "emails that it sends" not in TestApp(AuthMiddleware(sample.site, settings)).get("/")
    monkeypatch.setattr(sample, "MAILS", "/srv/library/mails")
    TestApp(AuthMiddleware(sample.site, settings)).get("/").mustcontain("/srv/library/mails")


@pytest.fixture
def make_run(tmp_path):
    """Run `make run` in a folder; yield its output, address and folder."""
    for name in ("Makefile", "sample_wsgi.py", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    is_installed = ("--assume-old=.venv/sample", f"BIN={Path(sys.executable).parent}")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        ["make", "run", f"PORT={free_port()}", *is_installed],
        cwd=tmp_path,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as made:
        try:
            printed = []
            while not (printed and printed[-1].startswith("Serving on ")):
                printed.append(next(iter(made.stdout.readline, "")))
            yield "".join(printed), printed[-1].split()[-1], tmp_path
        finally:
            os.killpg(made.pid, signal.SIGTERM)


def test_make_run_serves_it_with_everything_on(make_run):
    printed, address, folder = make_run
    assert re.fullmatch(r"http://localhost:\d+/", address)
    assert f"The emails that it sends are files in {folder}/mails\n" in printed
    assert " -m wsgiauth createsuperuser\n" in printed
    opener = build_opener(HTTPCookieProcessor())

    def fetch(path, **form):
        body = urlencode(form).encode() if form else None
        headers = {**SAME_ORIGIN, "Accept-Encoding": "identity"}
        return opener.open(Request(address + path, body, headers)).read().decode()

    assert "Log in with a passkey" in fetch("auth/login")
    grace = {"username": "Grace", "email": "grace@example.org", "password": PASSWORD}
    fetch("auth/register", **grace)
    account = fetch("auth/account")
    assert all(f"/auth/{page}" in account for page in ("totp", "passkeys", "email"))
    assert (folder / "mails").is_dir()
    assert (folder / "factor.key").stat().st_mode & 0o777 == 0o600
    assert len((folder / "factor.key").read_text().strip()) == 64
