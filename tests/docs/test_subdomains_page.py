"""docs/subdomains.md: its configuration in nginx, and each thing that a hostile host can do or not.

Chromium opens hosts of example.org, for which it asks nginx on this machine.
"""

import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
from contextlib import closing
from http.client import HTTPSConnection
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

import pytest

from tests.docs.pages import PAGES, code, commands
from tests.support.browser import Visitor, start_browser
from tests.support.nginx import nginx
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, free_port, serving, started
from wsgiauth import Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens

PAGE = PAGES["docs/subdomains.md"]
FILES = {
    re.match("# (.*)\n", each)[1]: each
    for each in (*code(PAGES["docs/forward-auth.md"], "nginx"), *code(PAGE, "nginx"))
}
HOSTILE = """
server {{
    listen 443 ssl;
    server_name evil.example.org;
    location / {{
        proxy_pass {address};
    }}
}}
"""
AUTH, APP, EVIL = (f"https://{name}.example.org" for name in ("auth", "app", "evil"))
PLAIN = "http://plain.example.org"  # the hostile server without https
FILE = "https://files.example.org/report.txt"
SESSION = "__Secure-wsgiauth"
LOG_OUT = re.search(r"`(/auth/logout\?next=[^`]*)`", PAGE)[1]
SETTINGS = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4)


class Network(NamedTuple):
    """The servers, and the requests that reached two of them."""

    port: int  # of nginx
    plain_port: int  # of the hostile server
    at_evil: list[dict[str, str]]
    at_app: list[dict[str, str]]
    token: str  # of the session of an attacker, who has an account

    def ask(self, host, path, **headers):
        """Return the body of an answer without a browser, and its Location."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        context = ssl._create_unverified_context()  # noqa: S323 - our own nginx
        with closing(HTTPSConnection("127.0.0.1", self.port, context=context)) as connection:
            connection.request("GET", path, headers={"Host": host, **headers})
            response = connection.getresponse()
            return response.read().decode(), response.headers["Location"]


def recording(requests, body=""):
    """Return an application that records requests, and sets the cookies that a query names."""

    def answer(environ, start_response):
        names = {"method": "REQUEST_METHOD", "cookie": "HTTP_COOKIE", "user": "HTTP_REMOTE_USER"}
        requests.append({name: environ.get(key, "") for name, key in names.items()})
        cookies = parse_qs(environ["QUERY_STRING"]).get("set", [])
        headers = [("Content-Type", "text/html"), *(("Set-Cookie", each) for each in cookies)]
        start_response("200 OK", headers)
        start = "<!doctype html><link rel=icon href=data:><title>A page</title><h1>A page</h1>"
        return [f"{start}{body}".encode()]

    return answer


@pytest.fixture(scope="module")
def network(tmp_path_factory, empty_file):
    """Run the login, a service, a hostile server, and nginx with the configuration of the page."""
    folder = tmp_path_factory.mktemp("subdomains")
    (folder / "files").mkdir()
    (folder / "files/report.txt").write_text("private", encoding="utf-8")
    shutil.copy(empty_file, folder / "wsgiauth.db")
    opened = storage.open_database(f"sqlite:///{folder}/wsgiauth.db")
    create_user("ada", EMAIL, PASSWORD, settings=SETTINGS)
    mallory = create_user("mallory", "mallory@example.org", PASSWORD, settings=SETTINGS)
    token = sessions.start(mallory, Tokens(SETTINGS)).token
    storage.discard_connection(opened)
    environ = {**os.environ, "SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "4"}
    *exports, (serve, _) = commands(code(PAGE, "console")[0])
    for command, _ in exports:
        environ |= dict(pair.split("=", 1) for pair in shlex.split(command)[1:])
    login = free_port()
    command = [sys.executable, *serve.split()[1:], f"--listen=127.0.0.1:{login}"]
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    at_evil, at_app = [], []
    link = f'<a href="{LOG_OUT}">Log out</a><form method="post"><button>Send</button></form>'
    with (
        serving(recording(at_evil)) as evil,
        serving(recording(at_app, link)) as app,
        started(command, login, env=environ, **quiet),
    ):
        ports = {"8080": str(login), "3000": app.rpartition(":")[2]}
        files = {
            name: re.sub(r"(?<=:)(8080|3000)\b", lambda found: ports[found[0]], text)
            for name, text in FILES.items()
        }
        for name in ("headers.conf", "protected.conf"):
            (folder / name).write_text(files[name], encoding="utf-8")
        with nginx(folder, files["subdomains.conf"] + HOSTILE.format(address=evil)) as port:
            yield Network(port, int(evil.rpartition(":")[2]), at_evil, at_app, token)


@pytest.fixture(scope="module")
def browser(chromium, network, tmp_path_factory):
    """Run Chromium, whose hosts of example.org are on this machine."""
    rules = (
        f"MAP plain.example.org 127.0.0.1:{network.plain_port}",
        f"MAP *.example.org 127.0.0.1:{network.port}",
    )
    flags = (
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
        f"--host-resolver-rules={', '.join(rules)}",
        "--ignore-certificate-errors",
    )
    with start_browser(*chromium, *flags) as started:
        yield started


@pytest.fixture
def visitor(browser, network):
    """Return a person without cookies, while no server has a request."""
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    network.at_evil.clear()
    network.at_app.clear()
    return Visitor(browser, AUTH)


def cookies(visitor):
    """Return all cookies of the browser, by name."""
    found = visitor.browser.execute_cdp_cmd("Network.getAllCookies", {})["cookies"]
    return {each["name"]: each for each in found}


def user_at(visitor, network):
    """Return the user as whom the service knows the browser; "" if it asks for a login."""
    network.at_app.clear()
    visitor.browser.get(APP)
    return network.at_app[-1]["user"] if network.at_app else ""


def plant(visitor, cookie):
    """Let the hostile server set a cookie."""
    visitor.browser.get(f"{EVIL}/?{urlencode({'set': cookie})}")


def send(visitor, url):
    """Let a page of the hostile host send a form."""
    form = f'<h1>A page</h1><form method="post" action="{url}"><button>Send</button></form>'
    visitor.show(EVIL, form)
    visitor.press("Send")


@pytest.mark.promise(85)
def test_a_login_leads_back_and_a_logout_counts_at_every_host(visitor, network):
    visitor.browser.get(FILE)
    assert visitor.browser.current_url == f"{AUTH}/auth/login?{urlencode({'next': FILE})}"
    visitor.submit("ada", PASSWORD)
    assert visitor.browser.current_url == FILE
    assert visitor.find("body").text == "private"
    assert user_at(visitor, network) == "ada"
    visitor.press("Log out")
    assert visitor.browser.current_url == f"{AUTH}/auth/login"
    assert SESSION not in cookies(visitor)
    assert user_at(visitor, network) == ""
    visitor.browser.get(FILE)
    assert visitor.heading == "Log in"


def test_a_form_of_a_host_reaches_its_service(visitor, network):
    visitor.log_in("ada")
    visitor.browser.get(APP)
    visitor.press("Send")
    assert [each["method"] for each in network.at_app] == ["GET", "POST"]
    assert network.at_app[-1]["user"] == "ada"


def test_a_link_to_the_logout_of_another_host_is_refused(visitor, network):
    visitor.log_in("ada")
    visitor.show(APP, f'<h1>A page</h1><a href="{AUTH}/auth/logout">Log out</a>')
    visitor.press("Log out")
    assert visitor.heading == "This request was refused"
    assert user_at(visitor, network) == "ada"


@pytest.mark.promise(85)
def test_no_client_chooses_the_host_to_come_back_to(network):
    forged = {"Accept": "text/html", "X_Forwarded_Host": "app.example.org"}
    _, location = network.ask("files.example.org", "/report.txt", **forged)
    assert location == f"{AUTH}/auth/login?{urlencode({'next': FILE})}"


# What a hostile host can do.
@pytest.mark.promise(85)
@pytest.mark.parametrize("way", ["a page", "an image"])
def test_its_server_can_take_over_sessions(visitor, network, way):
    visitor.log_in("ada")
    if way == "a page":
        visitor.browser.get(EVIL)
    else:
        visitor.browser.get(APP)
        visitor.browser.execute_async_script(
            "const [url, done] = arguments, image = new Image();"
            " image.onload = image.onerror = () => done(); image.src = url;",
            EVIL,
        )
    stolen = network.at_evil[-1]["cookie"]
    assert stolen.startswith(f"{SESSION}=")
    assert network.ask("files.example.org", "/report.txt", Cookie=stolen)[0] == "private"


@pytest.mark.promise(85)
def test_its_server_can_replace_the_session_by_one_of_its_own_account(visitor, network):
    visitor.log_in("ada")
    plant(visitor, f"{SESSION}={network.token}; Domain=example.org; Path=/; Secure")
    assert user_at(visitor, network) == "mallory"


@pytest.mark.promise(85)
def test_its_script_can_log_a_user_into_its_own_account(visitor, network):
    visitor.browser.get(EVIL)
    planted = f"{SESSION}={network.token}; domain=example.org; path=/; secure"
    visitor.run("document.cookie = arguments[0]", planted)
    assert user_at(visitor, network) == "mallory"


@pytest.mark.promise(85)
def test_a_form_from_before_is_refused(visitor, network):
    visitor.log_in("ada")
    visitor.open("/auth/username")
    (page,) = visitor.browser.window_handles
    visitor.browser.switch_to.new_window("tab")
    plant(visitor, f"{SESSION}={network.token}; Domain=example.org; Path=/; Secure")
    visitor.browser.close()
    visitor.browser.switch_to.window(page)
    field = visitor.find("[name=username]")
    field.clear()
    field.send_keys("countess")
    with visitor.leaving():
        field.submit()
    assert visitor.heading == "This page is for another account"


@pytest.mark.promise(85)
def test_its_server_can_log_users_out(visitor, network):
    visitor.log_in("ada")
    session = cookies(visitor)[SESSION]["value"]
    plant(visitor, f"{SESSION}=planted; Domain=example.org; Path=/; Secure")
    assert user_at(visitor, network) == ""
    cookie = f"{SESSION}={session}"
    assert network.ask("files.example.org", "/report.txt", Cookie=cookie)[0] == "private"


@pytest.mark.promise(85)
def test_its_script_can_log_users_out_by_many_cookies(visitor, network):
    visitor.log_in("ada")
    visitor.browser.get(EVIL)

    def has_dropped_it(_):
        visitor.run(
            "for (let number = 0; number < 200; number++)"
            " document.cookie = `n${number}-${Math.random()}=; path=/never; secure`;"
        )
        return SESSION not in cookies(visitor)

    visitor.wait_until(has_dropped_it)
    assert user_at(visitor, network) == ""


@pytest.mark.promise(85)
def test_its_script_can_keep_users_logged_out_below_a_path(visitor, network):
    visitor.log_in("ada")
    visitor.browser.get(EVIL)
    visitor.run(f"document.cookie = '{SESSION}=planted; domain=example.org; path=/auth; secure'")
    visitor.open("/auth/account")
    assert visitor.heading == "Log in"
    assert f"two different cookies named {SESSION}" in visitor.find("body").text
    visitor.submit("ada", PASSWORD)
    assert visitor.heading == "Log in"
    assert user_at(visitor, network) == "ada"


@pytest.mark.promise(85)
def test_its_script_can_change_the_language(visitor):
    visitor.browser.get(EVIL)
    cookie = f"{SESSION}-language=de; domain=example.org; path=/; secure"
    visitor.run(f"document.cookie = '{cookie}'")
    visitor.open("/auth/login")
    assert visitor.find("html").get_attribute("lang") == "de"


# What it cannot do.
@pytest.mark.promise(85)
def test_its_script_cannot_read_the_cookie(visitor, network):
    visitor.log_in("ada")
    visitor.browser.get(EVIL)
    assert SESSION in network.at_evil[-1]["cookie"]
    assert visitor.run("return document.cookie") == ""


@pytest.mark.promise(85)
def test_its_forms_are_refused(visitor, network):
    visitor.log_in("ada")
    send(visitor, f"{AUTH}/auth/logout")
    assert visitor.heading == "This request was refused"
    send(visitor, APP)
    assert visitor.browser.current_url.startswith(f"{AUTH}/auth/login?done=unsent&next=")
    assert network.at_app == []
    assert user_at(visitor, network) == "ada"


@pytest.mark.promise(85)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_its_scripts_can_read_nothing_and_change_nothing(visitor, network, method):
    visitor.log_in("ada")
    visitor.browser.get(EVIL)
    for url in (f"{AUTH}/auth/me", FILE, APP):
        failed = visitor.browser.execute_async_script(
            "const [url, method, done] = arguments;"
            " fetch(url, {method, credentials: 'include'})"
            ".then(() => done(false), () => done(true));",
            url,
            method,
        )
        assert failed
    assert {each["method"] for each in network.at_app} <= {"GET"}


@pytest.mark.promise(85)
def test_its_scripts_can_open_no_websocket(visitor, network):
    visitor.log_in("ada")
    visitor.browser.get(EVIL)
    opened = visitor.browser.execute_async_script(
        "const done = arguments[0], socket = new WebSocket('wss://app.example.org/');"
        " socket.onopen = () => done(true); socket.onerror = () => done(false);"
    )
    assert not opened
    assert network.at_app == []


@pytest.mark.promise(85)
def test_it_cannot_set_another_cookie_of_the_login(visitor):
    name = f"__Host-wsgiauth-second-{'0' * 16}"
    plant(visitor, f"{name}=planted; Domain=example.org; Path=/; Secure")
    visitor.run(f"document.cookie = '{name}=planted; domain=example.org; path=/; secure'")
    assert name not in cookies(visitor)


@pytest.mark.promise(85)
def test_it_receives_no_other_cookie_of_the_login(visitor, network):
    visitor.open("/auth/login")
    visitor.submit("ada", "a wrong password")
    others = {name for name in cookies(visitor) if name.startswith("__Host-wsgiauth-")}
    visitor.browser.get(EVIL)
    assert others
    assert "__Host-" not in network.at_evil[-1]["cookie"]


@pytest.mark.promise(85)
def test_no_login_leads_to_it(visitor):
    visitor.open(f"/auth/login?{urlencode({'next': EVIL})}")
    visitor.submit("ada", PASSWORD)
    assert visitor.browser.current_url.startswith(AUTH)


@pytest.mark.promise(85)
@pytest.mark.parametrize("attributes", ["", "; Secure"])
def test_over_plain_http_it_cannot_set_the_cookie(visitor, attributes):
    cookie = f"{SESSION}=planted; Domain=example.org; Path=/{attributes}"
    visitor.browser.get(f"{PLAIN}/?{urlencode({'set': cookie})}")
    assert visitor.heading == "A page"
    assert cookies(visitor) == {}
