"""A page of another origin in Chromium, which logs in with `oidc-client-ts` of npm."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.support.browser import Visitor, start_browser
from tests.support.gallery import bare_sample
from tests.support.oauth_apps import TOKEN, USERINFO, App, as_provider
from tests.support.service_keys import write_key
from tests.support.sites import EMAIL, PASSWORD, USERNAME, Stage, serving
from wsgiauth import AuthMiddleware, storage

PAGE = """<!doctype html><title>Board</title><link rel="icon" href="data:,">
<script src="/oidc-client-ts.js"></script>
<script>
window.board = new oidc.UserManager({...%s, redirect_uri: `${location.origin}/`});
</script>"""
SCOPE = "openid profile email offline_access"


class Board:
    """The pages of an app whose tokens are in the page alone.

    Attributes:
        options: Of the library.
    """

    def __init__(self, script):
        self.script, self.options = Path(script).read_bytes(), {}

    def __call__(self, environ, start_response):
        """Answer with the script of the library, or with the page."""
        is_script = environ["PATH_INFO"].endswith(".js")
        kind = "text/javascript" if is_script else "text/html"
        start_response("200 OK", [("Content-Type", f"{kind}; charset=utf-8")])
        return [self.script if is_script else (PAGE % json.dumps(self.options)).encode()]


@pytest.fixture(scope="module")
def board():
    script = os.environ.get("PAGE_APP") or skip_or_fail("PAGE_APP names no file: see .ci/run")
    return Board(script)


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def addresses(stage, board):
    """Serve the site and the app, each at another port: two origins."""
    with serving(stage) as site, serving(board) as app:
        yield site, app.replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, addresses):
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile) as started:
        yield started


@pytest.fixture
def site(settings, stage, addresses, board, tmp_path):
    settings = as_provider(settings, write_key(tmp_path / "key"), PUBLIC_URL=addresses[0])
    stage.app = AuthMiddleware(bare_sample(tmp_path), settings)
    scopes = SCOPE.split()
    app = App(stage.app, "Board", f"{addresses[1]}/", is_public=True, scopes=scopes)
    further = {"loadUserInfo": True, "revokeTokenTypes": ["refresh_token"]}
    board.options = {"authority": addresses[0], "client_id": app.id, "scope": SCOPE, **further}
    yield stage.app
    storage.discard_connection(stage.app.database)


@pytest.fixture
def visitor(browser, addresses, site):
    """Return a person at the pages of the app."""
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return Visitor(browser, addresses[1])


def run(browser, expression):
    """Return the value of a promise, or the error."""
    script = f"""const done = arguments[0];
    ({expression}).then(value => done({{value}}), error => done({{error: String(error)}}))"""
    return browser.execute_async_script(script)


@pytest.mark.usefixtures("ada")
def test_a_page_of_another_origin_logs_in_refreshes_and_revokes(browser, visitor):
    visitor.open("/")
    with visitor.leaving():
        visitor.run("board.signinRedirect()")
    assert visitor.heading == "Log in"
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.heading == "Log in to Board"
    visitor.press("Allow")
    assert visitor.page == "/"
    user = run(browser, "board.signinCallback()")["value"]  # which reads /auth/userinfo
    profile = user["profile"]
    assert (profile["preferred_username"], profile["email"]) == (USERNAME, EMAIL)
    renewed = run(browser, "board.signinSilent()")["value"]
    assert renewed["refresh_token"] != user["refresh_token"]
    assert "value" in run(browser, "board.revokeTokens()")
    visitor.run("board.storeUser(new oidc.User(arguments[0]))", renewed)
    assert "ended" in run(browser, "board.signinSilent()")["error"]


@pytest.mark.promise(95)
@pytest.mark.parametrize("path", [TOKEN, USERINFO])
def test_a_page_of_an_origin_that_is_not_registered_reads_nothing(
    browser, visitor, addresses, path
):
    request = f"fetch('{addresses[0]}{path}', {{method: 'POST'}}).then(answer => answer.status)"
    visitor.open("/")
    assert run(browser, request)["value"] in (400, 401, 415)
    browser.get(addresses[1].replace("localhost", "127.0.0.1"))
    assert "Failed to fetch" in run(browser, request)["error"]
    public = f"fetch('{addresses[0]}/auth/jwks.json').then(answer => answer.status)"
    assert run(browser, public)["value"] == 200


@pytest.mark.promise(95)
@pytest.mark.usefixtures("ada")
def test_a_page_of_an_app_reads_nothing_with_the_cookie(browser, visitor, addresses):
    Visitor(browser, addresses[0]).log_in()
    visitor.open("/")
    for path in ("/auth/me", TOKEN, USERINFO):
        request = f"fetch('{addresses[0]}{path}', {{credentials: 'include'}})"
        assert "Failed to fetch" in run(browser, request)["error"]
