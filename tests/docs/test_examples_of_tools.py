"""docs/examples/: real tools use the programs with API keys, and are refused without."""

import re
import shutil
import subprocess
from contextlib import ExitStack

import pytest

from tests.conftest import require_program
from tests.docs.examples import (
    INDEX,
    TEXT,
    TOOLS,
    Terminal,
    bearer,
    environ_of,
    served,
)
from tests.docs.pages import shown
from tests.support.sites import BROWSER, EMAIL, PASSWORD, USERNAME
from tests.support.versions import python_with

BASIC = 'Basic realm="wsgiauth", charset="UTF-8"'


@pytest.fixture(scope="module")
def site_of(tmp_path_factory, empty_file, unmeasured):
    """Return a function that serves a program, once for all tests."""
    sites = {}
    with ExitStack() as stack:

        def serve(name):
            if name not in sites:
                folder = tmp_path_factory.mktemp(name)
                sites[name] = stack.enter_context(served(TOOLS[name], folder, empty_file))
            return sites[name]

        yield serve


@pytest.fixture(params=TOOLS)
def site(request, site_of):
    """Return each program."""
    return site_of(request.param)


def typed(name, words):
    """Return the command of a user that has the words."""
    (command,) = (each for each, _ in shown(TOOLS[name].page, "Users") if words in each)
    return command


# All of them


def test_a_browser_is_redirected_and_a_tool_is_asked_for_basic(site):
    with site.program() as client:
        page = client.get(site.example.path, headers=BROWSER)
        assert (page.status_code, "/auth/login" in page.headers["Location"]) == (302, True)
        answer = client.get(site.example.path, headers={"Remote-User": "1"})
        assert (answer.status_code, answer.headers.get_list("WWW-Authenticate")[0]) == (401, BASIC)


def test_a_key_has_its_own_permissions_alone(site):
    key, key_id = site.new_key(*site.example.permissions)
    with site.program() as client:
        path = site.example.path
        answer = client.get(path, headers=bearer(key))
        assert (answer.status_code, site.example.seen in answer.text) == (200, True)
        for weak, _ in (site.new_key(), site.new_key(owner="Grace")):
            assert client.get(path, headers=bearer(weak)).status_code == 403
    site.revoke(key_id)


def test_the_commands_make_a_key(tmp_path, empty_file):
    shutil.copy(empty_file, tmp_path / "wsgiauth.db")
    *_, create = shown(INDEX, "Run an example")
    for command, expected in (create, *shown(INDEX, "The key")):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=tmp_path,
            env=environ_of(tmp_path),
            capture_output=True,
            text=True,
            check=True,
        )
        assert re.sub("wsgiauth_.*", "wsgiauth_…", done.stdout) == expected


# Refusals, to curl


@pytest.fixture
def terminal(site_of, tmp_path):
    """Return a function that returns the terminal of a user of a program."""
    return lambda name: Terminal(site_of(name), tmp_path)


CURL = "curl -s --netrc -o /dev/null -w '%{http_code}' http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def keys(site_of):
    """Return keys for the packages: a good one, one without the permission, a revoked one."""
    site = site_of("packages")
    revoked, revoked_id = site.new_key("packages.install")
    site.revoke(revoked_id)
    (good, _), (weak, _) = site.new_key("packages.install"), site.new_key("packages.publish")
    return {"good": good, "weak": weak, "revoked": revoked}


@pytest.mark.promise(59)
@pytest.mark.parametrize(
    ("username", "password", "expected"),
    [
        pytest.param(USERNAME.upper(), "{good}", "200", id="the username"),
        pytest.param(EMAIL, "{good}", "200", id="the email address"),
        pytest.param(USERNAME, "{weak}", "403", id="a key without the permission"),
        pytest.param(USERNAME, "{good}x", "401", id="another key"),
        pytest.param(USERNAME, "{revoked}", "401", id="a revoked key"),
        pytest.param("Grace", "{good}", "401", id="the name of another user"),
        pytest.param(USERNAME, f'"{PASSWORD}"', "401", id="the password"),
    ],
)
def test_curl_is_admitted_with_a_key_alone(terminal, keys, username, password, expected):
    require_program("curl")
    curl = terminal("packages")
    curl.save(".netrc", password.format(**keys), username)
    assert curl.run(f"{CURL}{curl.site.example.path}") == (0, expected)


# pip and twine

INSTALL = (
    f"{typed('packages', '--index-url')} --target . --no-deps --no-cache-dir"
    " --no-compile --disable-pip-version-check"
)
ALONE = {"PIP_CONFIG_FILE": "/dev/null"}


def test_pip_installs_what_twine_has_uploaded(terminal):
    tools = terminal("packages")
    key, _ = tools.site.new_key("packages.publish", "packages.install")
    tools.save(".pypirc", key)
    tools.save(".netrc", key, EMAIL)
    upload = typed("packages", "twine upload").replace("dist/", f"{tools.site.folder}/dist/")
    status, output = tools.run(f"{upload} --disable-progress-bar; {INSTALL}", **ALONE)
    assert (status, "library-1.1" in output) == (0, True), output
    assert TEXT in (tools.home / "library.py").read_text()


def test_pip_asks_for_a_key_instead_of_reading_the_login_page(terminal, keys):
    pip = terminal("packages")
    status, output = pip.run(f"printf 'ada\\n{keys['good']}\\n' | {INSTALL}", **ALONE)
    assert (status, "User for 127.0.0.1" in output) == (0, True), output


def test_a_key_without_the_permission_publishes_and_removes_nothing(terminal, keys):
    form = {":action": "remove_pkg", "name": "library", "version": "1.0"}
    with terminal("packages").site.program() as client:
        client.auth = (USERNAME, keys["good"])
        assert client.post("/", data=form).status_code == 403
        upload = {"content": ("library-2.0.tar.gz", b"")}
        fields = {":action": "file_upload"}
        assert client.post("/", data=fields, files=upload).status_code == 403
        page = client.get("/simple/library/").text
        assert ("library-1.0" in page, "library-2.0" in page) == (True, False)


def test_pypiserver_runs_no_script_of_a_package(terminal):
    site = terminal("packages").site
    name = "page-1.0-py2.7-x.html"  # pypiserver takes it for the name of a package
    upload = {"content": (name, f"<script>{TEXT}</script>")}
    key, key_id = site.new_key("packages.install", "packages.publish")
    with site.program() as client:
        client.auth = (USERNAME, key)
        assert client.post("/", data={":action": "file_upload"}, files=upload).status_code == 200
        page = client.get(f"/packages/{name}")
        assert (page.headers["Content-Type"][:9], TEXT in page.text) == ("text/html", True)
        assert page.headers["Content-Security-Policy"] == "sandbox allow-downloads"
    site.revoke(key_id)


# hg

CLONE = typed("hg", "hg clone")
PUSH = "hg -R library push"


def test_hg_clones_with_a_key_and_pushes_only_with_the_permission(terminal):
    hg = terminal("hg")
    hg.save(".hgrc", hg.site.new_key("code.pull")[0])
    status, output = hg.run(
        f"{CLONE}; touch library/a; hg -R library commit -qA -u ada -m First; {PUSH}"
    )
    assert (status != 0, "HTTP Error 403" in output) == (True, True), output
    hg.save(".hgrc", hg.site.new_key("code.pull", "code.push")[0])
    status, output = hg.run(PUSH)
    assert (status, "added 1 changesets" in output) == (0, True), output


def test_hgweb_changes_nothing_without_the_permission(terminal):
    site = terminal("hg").site
    key, key_id = site.new_key("code.pull")
    change = f"namespace=bookmarks&key=stolen&old=&new={'0' * 40}"
    batch = {"X-HgArg-1": f"cmds=pushkey+{change.replace('&', '%2C')}"}
    with site.program() as client:
        client.auth = (USERNAME, key)
        assert client.get(f"/library?cmd=pushkey&{change}").status_code == 405
        assert client.get("/library?cmd=batch", headers=batch).status_code == 405
        assert client.post(f"/library?cmd=pushkey&{change}").status_code == 403
        assert "stolen" not in client.get("/library?cmd=listkeys&namespace=bookmarks").text
    site.revoke(key_id)


def test_hgweb_runs_no_script_of_an_author(terminal):
    hg = terminal("hg")
    key, key_id = hg.site.new_key("code.pull", "code.push")
    hg.save(".hgrc", key)
    author = "-u '<script>alert(1)</script>'"
    commands = f"{CLONE} other; touch other/b; hg -R other commit -qA {author} -m x; {PUSH}"
    status, output = hg.run(commands.replace("-R library", "-R other"))
    assert status == 0, output
    with hg.site.program() as client:
        client.auth = (USERNAME, key)
        page = client.get("/library/shortlog")
    hg.site.revoke(key_id)
    assert "<script>alert(1)</script>" in page.text  # so the header is needed
    allowed = "sandbox allow-forms allow-downloads; form-action 'self'"
    assert page.headers["Content-Security-Policy"] == allowed


def test_hg_without_a_key_asks_for_one(terminal):
    status, output = terminal("hg").run(CLONE)
    assert (status != 0, "http authorization required" in output) == (True, True), output


# Radicale


def test_the_client_of_the_page_writes_an_event(terminal):
    site = terminal("calendar").site
    program = site.folder / "add_event.py"
    program.write_text(program.read_text().replace("http://127.0.0.1:8080", site.address))
    # Installed beside what other tests use, caldav would replace urllib3.
    python = python_with("caldav==3.6.*")
    write = typed("calendar", "add_event.py").replace("python", str(python))
    script = f"{typed('calendar', 'makekey')}; {write}"
    assert Terminal(site, site.folder).run(script) == (0, "")
    (event,) = site.folder.glob("calendars/collection-root/1/*/*.ics")
    assert "SUMMARY:Reading" in event.read_text()


def test_calendars_are_written_only_with_the_permission_and_read_by_their_owner(terminal):
    site = terminal("calendar").site
    reader, reader_id = site.new_key("calendar.read")
    with site.program() as client:
        for method in ("PUT", "DELETE", "MKCOL", "MKCALENDAR", "MOVE", "PROPPATCH", "POST"):
            answer = client.request(method, "/1/books/", auth=(USERNAME, reader))
            assert answer.status_code == 403, method
    site.revoke(reader_id)
    site.grant("root", "calendar.read")
    with site.program("root") as client:
        assert client.request("PROPFIND", "/").status_code == 207
        assert client.get("/1/books/", headers={"X-Remote-User": "1"}).status_code == 403
