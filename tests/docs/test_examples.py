"""docs/examples/: each application is served as its page says, used, and attacked."""

import base64
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from tests.conftest import require, require_program
from tests.docs.examples import (
    APPLICATIONS,
    FOLDER,
    INDEX,
    TEXT,
    TOOLS,
    Terminal,
    bearer,
    copy_programs,
    environ_of,
    log_in,
    served,
)
from tests.docs.pages import ROOT, shown
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, free_port

FORGED = {
    "X-Remote-User": USERNAME,
    "Remote-User": USERNAME,
    "Remote_User": USERNAME,
    "X-Forwarded-User": USERNAME,
    "wsgiauth.user": USERNAME,
    "wsgiauth-user": USERNAME,
    "X-Original-URL": "/auth/login",
    "X-Rewrite-URL": "/auth/login",
    "X-HTTP-Method-Override": "OPTIONS",
}


@pytest.fixture(scope="module")
def site_of(tmp_path_factory, empty_file, unmeasured):
    """Return a function that serves an application, once for all tests."""
    sites = {}
    with ExitStack() as stack:

        def serve(name):
            if name not in sites:
                if name == "git":
                    require_program("git")
                folder = tmp_path_factory.mktemp(name)
                site = served(APPLICATIONS[name], folder, empty_file)
                sites[name] = stack.enter_context(site)
            return sites[name]

        yield serve


@pytest.fixture(params=APPLICATIONS)
def site(request, site_of):
    """Return each application."""
    return site_of(request.param)


def test_the_index_lists_each_example_with_its_permissions():
    row = re.compile(r"^\| \[.+?\]\((.+?)/README\.md\).*?\|([^|]*\|[^|]*)\|$", re.MULTILINE)
    listed = {name: set(re.findall("`(.+?)`", cells)) for name, cells in row.findall(INDEX)}
    examples = (*APPLICATIONS.values(), *TOOLS.values())
    permissions = {each.name: set(each.permissions) for each in examples}
    assert listed == permissions | {"two-sites": set(), "organisations": set()}
    assert listed.keys() == {path.parent.name for path in FOLDER.glob("*/README.md")}


def test_the_index_installs_what_an_example_requires():
    _make, (install, _), *_ = shown(INDEX, "Run an example")
    assert f"{install} && " in (ROOT / "Makefile").read_text("utf-8")


REQUIREMENTS = sorted(FOLDER.glob("*/requirements.txt"))


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.parent.name)
def test_the_tests_install_what_an_example_requires(path):
    tested = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f'"{line}",' in tested for line in path.read_text("utf-8").splitlines())


@pytest.fixture
def make_example(tmp_path):
    """Run `make example` in a folder with what is installed here; yield its address."""
    require("sqlite_web")
    (tmp_path / "bin").mkdir()
    shutil.copy(ROOT / "Makefile", tmp_path)
    copy_programs(APPLICATIONS["sqlite"], tmp_path / "docs/examples/sqlite-web")
    for name, command in (("pip", "true"), ("python", f'exec {sys.executable} "$@"')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{command}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    is_installed = ("PYTHON=true", f"EXAMPLE={tmp_path}/bin")
    with subprocess.Popen(
        ["make", "example", "NAME=sqlite-web", f"PORT={free_port()}", *is_installed],
        cwd=tmp_path,
        env=environ_of(tmp_path) | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as made:
        try:
            lines = iter(made.stdout.readline, "")
            yield next(line.split()[-1] for line in lines if line.startswith("Serving on "))
        finally:
            os.killpg(made.pid, signal.SIGTERM)


@pytest.mark.usefixtures("unmeasured")
def test_make_example_serves_an_example(make_example, tmp_path):
    assert httpx.get(f"{make_example}book/content/", headers=BROWSER).status_code == 302
    key = tmp_path / "docs/examples/sqlite-web/secret.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_text().strip()) == 64


# All of them


def test_a_browser_is_sent_to_the_login_page_and_back(site):
    path, seen = site.example.path, site.example.seen
    with site.browser() as browser:
        page = log_in(browser, path)
        assert (page.status_code, page.url.raw_path.decode()) == (200, path)
        assert seen in page.text
        browser.post("/auth/logout", headers=SAME_ORIGIN)
        page = browser.get(path)
        assert page.url.path == "/auth/login"
        assert seen not in page.text


def test_a_program_without_credentials_is_refused(site):
    with site.program() as client:
        for headers in ({}, FORGED, {"Authorization": "Basic QWRhOmE="}):
            answer = client.get(site.example.path, headers=headers)
            assert answer.status_code == 401
            scheme = "Basic" if site.example.accepts_basic else "Bearer"
            assert answer.headers["WWW-Authenticate"].startswith(f"{scheme} ")


def test_a_user_without_the_permission_is_refused(site):
    with site.program("Grace") as client:
        for headers in ({}, FORGED):
            answer = client.get(site.example.path, headers=headers)
            assert answer.status_code == 403
            assert site.example.seen not in answer.text


def test_a_revoked_session_is_refused_at_the_next_request(site):
    with site.program(USERNAME) as client:
        assert site.example.seen in client.get(site.example.path).text
        client.post("/auth/logout").raise_for_status()
        assert client.get(site.example.path).status_code == 401


def test_a_key_has_its_own_permissions_alone_until_it_is_revoked(site):
    key, key_id = site.new_key(*site.example.permissions)
    weak, weak_id = site.new_key()
    with site.program() as client:
        path = site.example.path
        assert site.example.seen in client.get(path, headers=bearer(key)).text
        assert client.get(path, headers=bearer(weak)).status_code == 403
        site.revoke(key_id)
        site.revoke(weak_id)
        assert client.get(path, headers=bearer(key)).status_code == 401


def ask_raw(address, target):
    """Send a target that clients would change; return the status and the body."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.putrequest("GET", target)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, body


def test_no_other_spelling_of_a_path_is_open(site):
    path, seen = site.example.path, site.example.seen
    first, rest = path[1], path[2:]
    for target in (
        f"/%{ord(first):x}{rest}",
        f"/{path}",
        f"/.{path}",
        f"/auth/..{path}",
        f"/auth/login/../..{path}",
        f"/auth%2f..{path}",
        f"/auth;{path}",
        f"/books/..{path}",
        f"/books/%2e%2e{path}",
        f"/-/static/..%2f..{path}",
        f"/static/..{path}",
        f"{site.address}{path}",
        f"{path}%20",
        f"/%00{path}",
    ):
        status, body = ask_raw(site.address, target)
        assert status in (400, 401, 404), target
        assert seen not in body, target


# sqlite-web


@pytest.fixture
def sqlite(site_of):
    return site_of("sqlite")


def run_sql(client, sql, **headers):
    return client.post("/query/", data={"sql": sql}, headers=headers)


def test_sqlite_web_runs_sql_on_its_file_alone(sqlite):
    with sqlite.program(USERNAME) as client:
        assert TEXT in run_sql(client, "SELECT title FROM book").text
        for sql in ("ATTACH 'wsgiauth.db' AS a", "VACUUM INTO 'copy.db'"):
            assert "too many attached databases" in run_sql(client, sql).text
        assert client.get("/download/").status_code == 302
    assert not (sqlite.folder / "copy.db").exists()


def test_sqlite_web_accepts_no_session_of_its_own(sqlite):
    from flask import Flask
    from flask.sessions import SecureCookieSessionInterface

    app = Flask(__name__)
    app.secret_key = "sqlite-database-browser-0.1.0"
    signer = SecureCookieSessionInterface().get_signing_serializer(app)
    cookie = f"sqlite_web_session={signer.dumps({'authorized': True})}"
    with sqlite.program() as client:
        assert client.get("/", headers={"Cookie": cookie}).status_code == 401
        assert client.post("/login/", data={"password": PASSWORD}).status_code == 401
        assert client.get("/logout/").status_code == 401
        assert client.get("/static/css/bootstrap.min.css").status_code == 401


def test_a_key_is_no_password_unless_basic_is_on(sqlite):
    key, key_id = sqlite.new_key("library.browse")
    with sqlite.program() as client:
        assert client.get("/", headers=bearer(key)).status_code == 200
        assert client.get("/", auth=(USERNAME, key)).status_code == 401
    sqlite.revoke(key_id)


def test_forms_of_other_sites_run_no_sql(sqlite):
    with sqlite.browser() as browser:
        log_in(browser, "/")
        browser.follow_redirects = False
        sql = "DELETE FROM book"
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
            assert run_sql(browser, sql, **headers).status_code in (302, 401)
        browser.get("/query/", params={"sql": sql})
        assert TEXT in run_sql(browser, "SELECT title FROM book", **SAME_ORIGIN).text


# bepasty


@pytest.fixture
def bepasty(site_of):
    return site_of("bepasty")


ITEMS = "/apis/rest/items"


def upload(client, text, kind, **headers):
    """Upload a paste as bepasty's own client does."""
    data = text.encode()
    return client.post(
        ITEMS,
        content=base64.b64encode(data),
        headers={
            "Content-Type": kind,
            "Content-Filename": "paste",
            "Content-Range": f"bytes 0-{len(data) - 1}/{len(data)}",
            **headers,
        },
    )


@pytest.fixture
def paste(bepasty):
    """Return the name of an SVG image with a script."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><script>{TEXT}</script></svg>'
    with bepasty.program(USERNAME) as client:
        return upload(client, svg, "image/svg+xml").headers["Content-Location"].rpartition("/")[2]


def test_bepasty_asks_for_the_permissions_of_the_user(bepasty, paste):
    readings = f"{ITEMS}/{paste}/download", f"/{paste}", f"/{paste}/+inline"
    reader, reader_id = bepasty.new_key("pastes.read")
    with bepasty.program() as client:
        client.headers.update(bearer(reader))
        assert [client.get(path).status_code for path in readings] == [200, 200, 200]
        assert client.get("/+list").status_code == 403
        assert upload(client, "x", "text/plain").status_code == 403
        assert client.post(f"/{paste}/+delete").status_code == 403
    with bepasty.program("Grace") as client:
        assert [client.get(path).status_code for path in readings] == [403, 403, 403]
        assert client.get("/").status_code == 200
    bepasty.revoke(reader_id)


def test_bepasty_accepts_no_password_of_its_own(bepasty, paste):
    path = f"{ITEMS}/{paste}/download"
    with bepasty.program("Grace") as client:
        client.post("/+login", data={"token": ""})
        assert client.get(path, params={"token": ""}).status_code == 403
        assert upload(client, "x", "text/plain", Cookie="session=x").status_code == 403
    with bepasty.program() as client:
        assert client.get(path, params={"token": ""}).status_code == 401
        assert client.get(path, auth=("", "")).status_code == 401
        assert client.post("/+login", data={"token": ""}).status_code == 401


def test_bepasty_runs_no_script_of_a_redirect(bepasty):
    with bepasty.program(USERNAME) as client:
        sent = upload(client, "javascript:alert(1)", "text/x-bepasty-redirect")
        page = client.get(f"/{sent.headers['Content-Location'].rpartition('/')[2]}")
    assert 'href="javascript:alert(1)"' in page.text
    assert page.headers["Content-Security-Policy"] == "sandbox"


def test_bepasty_runs_no_script_of_a_paste(bepasty, paste):
    with bepasty.program(USERNAME) as client:
        page = client.get(f"/{paste}/+inline")
        assert (page.headers["Content-Type"], TEXT in page.text) == ("image/svg+xml", True)
        assert page.headers["Content-Security-Policy"] == "sandbox"
        attachment = client.get(f"/{paste}/+download").headers["Content-Disposition"]
        assert attachment.startswith("attachment")


def test_the_logout_button_of_bepasty_ends_the_session(bepasty):
    with bepasty.browser() as browser:
        assert 'value="Logout"' in log_in(browser, "/").text
        browser.post("/+logout", headers={"Sec-Fetch-Site": "cross-site"})
        assert browser.get("/auth/me").status_code == 200
        assert browser.post("/+logout", headers=SAME_ORIGIN).url.path == "/auth/login"
        assert browser.get("/auth/me", headers={"Accept": "application/json"}).status_code == 401


# Datasette


@pytest.fixture
def datasette(site_of):
    return site_of("datasette")


def test_datasette_shows_the_public_file_to_everyone(datasette):
    with datasette.program() as client:
        assert client.get("/books/book.json", params={"_shape": "array"}).json()[0]["title"] == TEXT
        assert client.get("/-/static/app.css").status_code == 200
        for path in ("/", "/books", "/books/book"):
            page = client.get(path)
            assert (page.status_code, "loan" in page.text) == (200, False)
        for path in ("/books.db", "/loans.db", "/loans", "/-/databases.json", "/-/metadata", "/-/"):
            assert client.get(path).status_code == 401
        for sql in ("SELECT * FROM loans.loan", "ATTACH 'loans.db' AS loans"):
            page = client.get("/books", params={"sql": sql})
            assert (page.status_code, TEXT in page.text) == (400, False)


def test_datasette_hides_the_other_file_from_users_without_the_permission(datasette):
    with datasette.program("Grace") as client:
        assert client.get("/-/actor.json").json()["actor"] == {
            "id": 2,
            "name": "Grace",
            "granted": [],
        }
        assert "loan" not in client.get("/").text
        for path in ("/loans", "/loans.json?sql=SELECT+1", "/loans/loan.csv?_stream=on"):
            assert client.get(path).status_code == 403


def test_no_cache_keeps_what_datasette_shows_a_user(datasette):
    with datasette.program(USERNAME) as client:
        for path in ("/loans", "/loans/loan.json", "/loans/loan.csv?_stream=on"):
            page = client.get(path)
            assert (page.status_code, "private" in page.headers["Cache-Control"]) == (200, True)


def test_a_user_named_root_has_no_rights_in_datasette(datasette):
    with datasette.program("root") as client:
        for path in ("/-/permissions", "/_internal", "/loans"):
            assert client.get(path).status_code == 403


# WsgiDAV


@pytest.fixture
def webdav(site_of):
    return site_of("webdav")


def test_the_client_of_the_page_uploads_a_file_with_a_key(webdav):
    require("webdav3")
    program = webdav.folder / "put_file.py"
    program.write_text(program.read_text().replace("http://127.0.0.1:8080", webdav.address))
    _grant, _install, *typed = (each for each, _ in shown(webdav.example.page, "Users"))
    assert Terminal(webdav, webdav.folder).run("; ".join(typed)) == (0, "")
    assert (webdav.folder / "files/README.md").read_text() == webdav.example.page


WRITING = ("PUT", "DELETE", "MKCOL", "COPY", "MOVE", "LOCK", "PROPPATCH", "POST", "PATCH")


def test_wsgidav_writes_only_with_the_permission(webdav):
    key, _ = webdav.new_key("files.read")
    headers = {"Destination": f"{webdav.address}/copy.txt", "Depth": "0"}
    with webdav.program() as client:
        for method in WRITING:
            assert client.request(method, "/book.txt", headers=headers).status_code in (400, 401)
        client.headers.update(bearer(key))
        assert client.request("PROPFIND", "/").status_code == 207
        for method in WRITING:
            assert client.request(method, "/book.txt", headers=headers).status_code in (400, 403)
    assert (webdav.folder / "files/book.txt").read_text() == f"{TEXT}\n"
    assert not (webdav.folder / "files/copy.txt").exists()


def test_wsgidav_knows_the_user_by_remote_user_alone(webdav):
    with webdav.program(USERNAME) as client:
        listing = client.get("/", headers={**FORGED, "X-Remote-User": "Grace"})
        assert ('user: "1"' in listing.text, "Grace" in listing.text) == (True, False)


def test_wsgidav_runs_no_script_of_a_file(webdav):
    with webdav.program(USERNAME) as client:
        assert client.put("/page.html", content=f"<script>{TEXT}</script>").status_code == 201
        page = client.get("/page.html")
        assert page.headers["Content-Type"].startswith("text/html")
        assert page.headers["Content-Security-Policy"] == "sandbox allow-downloads"


def test_nothing_outside_the_folder_of_wsgidav_is_served(webdav):
    with webdav.program(USERNAME) as client:
        token = client.headers["Authorization"]
    for target in ("/../wsgiauth.db", "/%2e%2e/wsgiauth.db", "/..%2fwsgiauth.db", "//wsgiauth.db"):
        connection = http.client.HTTPConnection(urlsplit(webdav.address).netloc, timeout=60)
        connection.request("GET", target, headers={"Authorization": token})
        assert connection.getresponse().status in (400, 404), target
        connection.close()


# Git


@pytest.fixture
def git(site_of, tmp_path):
    """Return a terminal in which git knows its user."""
    author = f"[user]\nname = Ada\nemail = {EMAIL}\n"
    (tmp_path / ".gitconfig").write_text(author)
    return Terminal(site_of("git"), tmp_path)


_grant, CLONE = (each for each, _ in shown(APPLICATIONS["git"].page, "Users"))
LIST = "git ls-remote http://127.0.0.1:8080/library.git"
PUSH = "git -C library commit -q --allow-empty -m More; git -C library push origin"


def test_git_clones_and_pushes_with_a_key_as_the_page_says(git):
    key, key_id = git.site.new_key("code.pull", "code.push")
    git.save(".netrc", key)
    status, output = git.run(f"{CLONE}; {PUSH} HEAD:more; {LIST}")
    assert (status, "refs/heads/more" in output) == (0, True), output
    git.site.revoke(key_id)
    status, output = git.run(LIST)
    assert (status != 0, "could not read Username" in output) == (True, True)


def test_git_takes_the_key_from_a_credential_helper(git):
    key, _ = git.site.new_key("code.pull")
    fields = f"url={git.site.address}\nusername={EMAIL}\npassword={key}\n"
    status, output = git.run(
        f"git config --global credential.helper store; printf '{fields}' | git credential approve;"
        f" {LIST}"
    )
    assert (status, "refs/heads/" in output) == (0, True), output


def test_git_does_not_push_without_the_permission(git):
    key, _ = git.site.new_key("code.pull")
    git.save(".netrc", key)
    status, output = git.run(f"{CLONE}; {PUSH} HEAD:stolen")
    assert (status != 0, "403" in output) == (True, True)
    kind = {"Content-Type": "application/x-git-receive-pack-request"}
    for path in ("", "/", "//", "/x/..", "/x/git-upload-pack"):
        answer = httpx.post(
            f"{git.site.address}/library.git{path}/git-receive-pack",
            content=b"0000",
            headers=kind | bearer(key),
        )
        assert answer.status_code in (403, 404), path
    assert "stolen" not in git.run(LIST)[1]


def test_git_without_a_key_sees_nothing(git):
    status, output = git.run(CLONE)
    assert (status != 0, "could not read Username" in output) == (True, True)
