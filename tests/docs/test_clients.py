"""docs/apps.md, clients: eight threads share a login whose access tokens end all the time."""

import os
import runpy
import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import pytest

from tests.conftest import require
from tests.docs.pages import PAGES, ROOT, code, section
from tests.support.sites import PASSWORD, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, Session, login_required, storage
from wsgiauth.testing import make_settings, make_user

THREADS = 8
ROUNDS = int(os.environ.get("ROUNDS", "20"))
MINUTE = 60

CLIENTS = section(PAGES["docs/apps.md"], "Clients that stay logged in")
APPS = ROOT / "docs/examples/apps"
FILES = ["requests_client.py", "use_requests.py"]


@pytest.fixture
def clock():
    return SimpleNamespace(now=2_000_000_000)


@pytest.fixture
def events():
    return []


@pytest.fixture
def address(database_url, clock, events):
    """Return the address of a site where an access token lives for a minute by `clock`."""
    settings = make_settings(DATABASE_URL=database_url, JWT_EXPIRY_MINUTES=1, SESSION_HOURS=87_600)
    site = AuthMiddleware(login_required(echo), settings, on_event=lambda e: events.append(e.name))
    site.site.tokens.now = lambda: clock.now
    make_user(site, USERNAME, password=PASSWORD)
    with serving(site, threads=THREADS) as at:
        yield at
    storage.discard_connection(site.database)


@pytest.fixture
def folder(folder):
    """Return the reader's folder, with the programs that the page links."""
    for name in FILES:
        shutil.copy(APPS / name, folder)
    return folder


@pytest.fixture(params=["httpx", "requests"])
def program(request, folder):
    require(request.param)
    return SimpleNamespace(**runpy.run_path(str(folder / f"{request.param}_client.py")))


def test_every_program_is_run():
    names = [each.partition("\n")[0] for each in code(CLIENTS, "python")]
    assert names == ["# httpx_client.py", "# use_httpx.py"]
    assert {path.name for path in APPS.glob("*requests*.py")} == {*FILES}


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_a_program_uses_the_client(run, serve, administrator, first_program, folder, library):
    require(library)
    *_, (command, _) = first_program
    with serve(command) as port:
        script = f"sed -i s/8080/{port}/ use_{library}.py && python use_{library}.py"
        assert run(script) == "Hello, ada!\n"


def test_eight_threads_refresh_at_once_and_none_is_logged_out(program, address, clock, events):
    login = program.Login(address, USERNAME, PASSWORD)

    def pass_time():
        clock.now += MINUTE

    everybody = Barrier(THREADS, pass_time)  # when all eight are ready, their access token ends

    def work(_):
        with program.connect(login) as client:
            for _ in range(ROUNDS):
                everybody.wait(timeout=60)
                answer = client.get(f"{address}/")
                assert (answer.status_code, answer.json()["user"]) == (200, USERNAME)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(work, range(THREADS)))
    assert events == ["registration", "login"]
    assert Session.get().generation == 1 + ROUNDS  # one refresh a round


def test_a_body_is_sent_again(program, address, clock):
    login = program.Login(address, USERNAME, PASSWORD)
    with program.connect(login) as client:
        clock.now += MINUTE
        assert client.post(f"{address}/", json={"x": 1}).status_code == 200


def test_a_login_that_has_ended_is_an_error(program, address, clock):
    login = program.Login(address, USERNAME, PASSWORD)
    with program.connect(login) as client:
        assert client.post(f"{address}/auth/logout").status_code == 200
        with pytest.raises(Exception, match="401"):
            client.get(f"{address}/")
