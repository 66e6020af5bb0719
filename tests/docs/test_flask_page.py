"""docs/flask.md: its programs run, its tests pass, and hello world needs few lines of ours."""

import importlib.util
import re

import pytest

from tests.conftest import require
from tests.docs.accounts import ask, token_of
from tests.docs.pages import PAGES, ROOT, code, commands
from tests.support.sites import BROWSER
from wsgiauth.testing import api_key, bearer, logged_in, make_settings, make_user

PAGE = PAGES["docs/flask.md"]
PROGRAMS = {
    program.partition("\n")[0].removeprefix("# "): program for program in code(PAGE, "python")
}
SOCKETS = (ROOT / "docs/examples/flask/flask_sockets.py").read_text(encoding="utf-8")
SOCKETS = (ROOT / "docs/examples/flask/flask_sockets.py").read_text(encoding="utf-8")
SOCKETS = (ROOT / "docs/examples/flask/flask_sockets.py").read_text(encoding="utf-8")
OURS = re.compile(r"wsgiauth|WSGIAuth|current_user|guard_blueprint|login_required|_required\(")


def test_every_program_is_run():
    assert list(PROGRAMS) == [
        "hello_flask.py",
        "flask_reports.py",
        "flask_library.py",
        "test_flask_library.py",
        "flask_admin_site.py",
    ]
    assert "(examples/flask/flask_sockets.py)" in PAGE


def test_hello_world_has_at_most_ten_lines_of_ours():
    lines = PROGRAMS["hello_flask.py"].splitlines()
    assert 0 < len([line for line in lines if OURS.search(line)]) <= 10


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that imports a program of the page, under no name for another test."""
    for name, value in vars(make_settings()).items():
        if isinstance(value, str):
            monkeypatch.setenv(name, value)

    def load_program(name):
        (tmp_path / name).write_text(PROGRAMS.get(name, SOCKETS), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), tmp_path / name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load_program


def test_hello_world_is_served_by_flasks_own_command(ada, serve):
    *_, (command, _) = commands(code(PAGE, "console")[0])
    with serve(command.replace("8080", "$1")) as port:
        site = f"http://127.0.0.1:{port}"
        status, page = ask(site, BROWSER)
        assert (status, "Log in" in page) == (200, True)
        assert ask(site)[0] == 401
        assert ask(site, token_of(site)) == (200, '{"hello":"Ada"}\n')


def test_the_guards_of_the_page_guard(load):
    app = load("flask_reports.py").app
    client = app.test_client()
    ada = make_user(app.wsgi_app)
    headers = bearer(app.wsgi_app, ada)
    assert client.get("/").text == "anonymous"
    assert client.get("/", headers=headers).text == "ada"
    assert client.get("/reports/7").status_code == 401
    assert client.get("/reports/7", headers=headers).json == {"report": 7, "by": "ada"}
    for method, path, status in [("PUT", "/reports/7", 403), ("GET", "/archive/1999", 403)]:
        assert client.open(path, method=method).status_code == 401
        assert client.open(path, method=method, headers=headers).status_code == status
    ada.grant("reports.publish", "reports.archive")
    assert client.put("/reports/7", headers=headers).json == {"published": 7}
    assert client.get("/archive/1999", headers=headers).json == {"archive": 1999}
    assert client.post("/delete", headers=headers).json == {"deleted": True}
    stale = bearer(app.wsgi_app, ada, confirmed_minutes_ago=60)
    assert client.post("/delete", headers=stale).status_code == 401


def test_the_tests_of_the_page_pass(run):
    assert "3 passed" in run("python -m pytest -p no:cacheprovider test_flask_library.py")


def test_flask_admin_is_for_those_with_the_permission(load):
    require("flask_admin")
    app = load("flask_admin_site.py").app
    ada = make_user(app.wsgi_app)
    for path in ("/admin/", "/admin/reports/"):
        refused = app.test_client().get(path, headers=BROWSER)
        assert refused.location.startswith("/auth/login?next=%2Fadmin%2F")
        assert app.test_client().get(path).status_code == 401
        logged_in(app.wsgi_app, ada).get(path, status=403)
    ada.grant("site.administer")
    assert "Reports" in logged_in(app.wsgi_app, ada).get("/admin/", status=200)
    assert logged_in(app.wsgi_app, ada).get("/admin/reports/").text == "Reports"


def test_a_socket_needs_a_ticket_of_the_guarded_view(load):
    require("flask_socketio")
    from flask_socketio.test_client import SocketIOTestClient

    program = load("flask_sockets.py")
    middleware = program.app.extensions["wsgiauth"]
    ada = make_user(middleware)
    client = program.app.test_client()
    assert client.post("/ticket").status_code == 401
    assert client.post("/ticket", headers=api_key(middleware, ada)).status_code == 403
    ticket = client.post("/ticket", headers=bearer(middleware, ada)).json
    socket = program.socketio.test_client(program.app, auth=ticket)
    socket.emit("whoami")
    assert socket.get_received()[0]["args"] == [ada.id]
    forged = ({}, {"ticket": "7"}, {"ticket": f"{ticket['ticket']}x"}, {"ticket": 7}, "7", [7])
    for auth in (None, *forged):
        refused = SocketIOTestClient(program.app, program.socketio, auth=auth)
        assert not refused.is_connected()
