"""docs/deployment.md: its commands are run, on the servers that they are about."""

import http.client
import re
import shutil
import ssl
import urllib.request
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from urllib.parse import urlencode, urlsplit

import peewee
import pytest
from playhouse import db_url
from webtest import TestApp

from tests.conftest import SERVERS, require, skip_or_fail
from tests.docs.accounts import ask, bearer, settings_of, token_of
from tests.docs.pages import CONFIGURATIONS, PAGES, code, commands, section, shown
from tests.support.leftovers import own_name
from tests.support.nginx import nginx
from tests.support.oauth_apps import answer_in, as_provider
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.sites import PASSWORD, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, storage
from wsgiauth.cli import main
from wsgiauth.testing import app_client

DEPLOYMENT = PAGES["docs/deployment.md"]


def test_every_program_of_the_deployment_page_is_run():
    kinds = re.findall(r"^```(\w+)\n", DEPLOYMENT, re.MULTILINE)
    assert Counter(kinds) == {
        "console": kinds.count("console"),
        "python": 1,
        "nginx": 1,
        "json": 1,  # in tests/cli/test_json_log.py
    }


def test_the_page_links_to_every_configuration_of_a_server():
    tried = {"apache.conf", "uwsgi.ini"}  # in test_servers.py
    tried |= {"haproxy.cfg", "kubernetes.yaml", "site.service"}  # in test_health_page.py
    assert {each.name for each in CONFIGURATIONS.iterdir()} == tried
    assert {*re.findall(r"\(deployment/([\w.]+)\)", DEPLOYMENT)} == tried


def test_the_first_commands_check_a_site_and_serve_it(run, serve, ada, environ, folder):
    make, export, (check, _), (command, _) = commands(code(DEPLOYMENT, "console")[0])
    run(make[0])
    assert (folder / "secret.key").stat().st_mode & 0o077 == 0
    environ["BCRYPT_ROUNDS"] = "12"  # or there would be a warning
    assert "The settings are valid" in run(f"{export[0]}\n{check}")
    forwarded = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
    with serve(command, export[0]) as port:
        token = token_of(f"http://127.0.0.1:{port}")
        assert ask(f"http://127.0.0.1:{port}/", token) == (200, f"Hello, {USERNAME}!")
        body = f"username={USERNAME}&password=wrong".encode()
        assert ask(f"http://127.0.0.1:{port}/auth/login", forwarded, body)[0] == 401
    assert "address=192.0.2.7" in (folder / "log").read_text()


def test_the_upkeep_runs(run, ada, environ):
    environ["BCRYPT_ROUNDS"] = "12"  # or there would be a warning
    for command, output in shown(DEPLOYMENT, "What to watch"):
        assert run(command).startswith(output)


def test_the_check_that_fails_on_warnings_fails_on_one(run):
    *_, (command, _) = shown(DEPLOYMENT, "What to watch")
    with pytest.raises(AssertionError):
        run(command)  # BCRYPT_ROUNDS is 4


@pytest.mark.usefixtures("postgresql_driver")
def test_a_server_is_made_ready(run, environ):
    server = SERVERS["postgresql"]
    name = f"{own_name()}_docs"
    try:
        database = db_url.connect(server)
        database.execute_sql(f"CREATE DATABASE {name}")
    except (peewee.OperationalError, peewee.ImproperlyConfigured) as error:
        skip_or_fail(f"no database server at {server}: {error}")
    try:
        _, (export, _), (migrate, applied), (check, _) = shown(DEPLOYMENT, "Several hosts")[:4]
        url = re.search("'(.*)'", export)[1]
        parts = urlsplit(server)
        environ["DATABASE_URL"] = (
            urlsplit(url)._replace(netloc=parts.netloc, path=f"/{name}").geturl()
        )
        assert environ["DATABASE_URL"].startswith("postgresql+pool://")
        with pytest.raises(AssertionError, match="schema is behind"):
            run(check)
        assert run(migrate).startswith(applied.rstrip().removesuffix("…"))
        run(check)
    finally:
        database.execute_sql(f"DROP DATABASE {name} WITH (FORCE)")
        database.close()


def test_a_restored_session_lives_until_all_are_ended(run, accounts, ada, folder):
    if shutil.which("sqlite3") is None:
        skip_or_fail("sqlite3 is not installed")
    umask, backup, *_, end_all = [command for command, _ in shown(DEPLOYMENT, "Backups")]
    assert umask.startswith("umask")
    assert backup.startswith("sqlite3")
    token = bearer(accounts, USERNAME, PASSWORD)
    run(f"{umask}\n{backup}")
    copy = folder / "copy.db"
    assert copy.stat().st_mode & 0o077 == 0
    run(f"python -m wsgiauth logout {USERNAME}")
    accounts.get("/auth/me", headers=token, status=401)
    storage.discard_connection(storage.current())
    for end in ("-wal", "-shm"):
        (folder / f"wsgiauth.db{end}").unlink(missing_ok=True)
    copy.replace(folder / "wsgiauth.db")
    accounts.get("/auth/me", headers=token, status=200)
    assert " 1 session, " in run(f"{end_all} --yes")
    accounts.get("/auth/me", headers=token, status=401)


@pytest.fixture
def provider(settings, tmp_path):
    """Return a site with apps."""
    keys = write_key(tmp_path / "key", pem_of(new_key("RS256")))
    site = AuthMiddleware(echo, as_provider(settings, keys))
    yield site
    storage.discard_connection(site.database)


def test_a_rotation_logs_nobody_out(run, serve, ada):
    text = section(DEPLOYMENT, "Key rotation")
    steps = re.findall(r"^\| \d \| `(SECRET_KEY=[^`]*)`", text, re.MULTILINE)
    assert len(steps) == 3
    (secret,) = re.findall("`(.*)` makes a key", text)
    old, new = 'old="$SECRET_KEY"', f"new={run(secret)}"
    *_, (command, _) = commands(code(DEPLOYMENT, "console")[0])
    tokens, answers = [], []
    for step in steps:
        with serve(command, old, new, f"export {step}") as port:
            site = f"http://127.0.0.1:{port}"
            answers.append([ask(f"{site}/auth/me", token)[0] for token in tokens])
            tokens.append(token_of(site))
    # The last step comes when the first token has expired, so that it does not matter.
    assert answers == [[], [200], [401, 200]]


def test_a_process_has_to_know_the_new_key_before_the_swap(accounts, ada, folder):
    new = "n3wJ8qWz1mT6yBn4cXf9sLp2dHg7aUe5oViQwMtYrZxN0bCjKlEuPGhSDAFOIk3"
    swapped, prepared = (
        AuthMiddleware(lambda environ, start_response: [], replace(settings_of(folder), **keys))
        for keys in ({"SECRET_KEY": new}, {"SECRET_KEY_FALLBACKS": (new,)})
    )
    token = bearer(TestApp(swapped), USERNAME, PASSWORD)
    TestApp(prepared).get("/auth/me", headers=token, status=200)
    accounts.get("/auth/me", headers=token, status=401)
    for site in (swapped, prepared):
        storage.discard_connection(site.database)


def servers(ports):
    """Return the page's configuration of nginx, for servers on these ports."""
    (block,) = code(section(DEPLOYMENT, "Behind nginx or another proxy"), "nginx")
    for written, here in {
        "127.0.0.1:8081": f"127.0.0.1:{ports[0]}",
        "127.0.0.1:8082": f"127.0.0.1:{ports[1]}",
        "/etc/ssl/site/": "",
    }.items():
        assert written in block
        block = block.replace(written, here)
    return block


def test_two_processes_behind_nginx_are_one_site(serve, ada, folder):
    with ExitStack() as stack:
        (export, _), *processes = [
            each for each in shown(DEPLOYMENT, "One host") if "gunicorn" not in each[0]
        ]
        ports = [stack.enter_context(serve(command, export)) for command, _ in processes]
        port = stack.enter_context(nginx(folder, servers(ports)))
        context = ssl.create_default_context(cafile=folder / "certificate.pem")
        site = f"https://127.0.0.1:{port}"
        token = token_of(site, context=context)
        for _ in ports:  # nginx takes them in turn
            assert ask(f"{site}/", token, context=context) == (200, f"Hello, {USERNAME}!")
        form = f"username={USERNAME}&password={PASSWORD}".replace(" ", "+").encode()
        headers = {"Origin": site, "Accept": "text/html"}
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.HTTPCookieProcessor()
        )
        request = urllib.request.Request(f"{site}/auth/login", form, headers)
        with opener.open(request, timeout=60) as answer:
            assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
            assert answer.read().decode() == f"Hello, {USERNAME}!"
        page = urllib.request.Request(f"{site}/auth/login", headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(page, context=context, timeout=60) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
        (jar,) = [each.cookiejar for each in opener.handlers if hasattr(each, "cookiejar")]
        assert [cookie.name for cookie in jar] == ["__Host-wsgiauth"]


FORWARDED = "x-forwarded-for x-forwarded-proto"
READY = "note: /auth/health/ready has the status 404"  # the site need not have it
WRONG = {  # each with the directive that it replaces, and what is said
    "nothing": ("", "", None),
    "no Host": ("proxy_set_header Host $http_host;", "", "code cross_origin: the proxy must pass"),
    "no scheme": ("proxy_set_header X-Forwarded-Proto $scheme;", "", "Cookies are not Secure"),
    "no HSTS": ('add_header Strict-Transport-Security "max-age=31536000" always;', "", "Strict-"),
    "no compression": ("gzip on;", "", "The login page is not compressed ("),
    "no cookies": ("gzip on;", "gzip on; proxy_hide_header Set-Cookie;", "removes Set-Cookie"),
    "no origin": ("gzip on;", 'gzip on; SET Origin "";', "does the proxy remove Origin?"),
    "no Authorization": ("gzip on;", 'gzip on; SET Authorization "";', "does not arrive"),
    "a header twice": (
        "gzip on;",
        "gzip on; add_header X-Content-Type-Options nosniff;",
        "X-Content-Type-Options of the login page comes twice",
    ),
    "changed pages": ("gzip on;", "gzip on; sub_filter '<style>' '<style> ';", "their style"),
    "a changed path": ("gzip on;", "gzip on; proxy_cookie_path / /auth;", "changes the path"),
}


@pytest.mark.parametrize(("written", "instead", "sentence"), WRONG.values(), ids=WRONG)
def test_the_check_of_a_url_finds_what_is_wrong_with_nginx(
    settings, tmp_path, monkeypatch, capsys, written, instead, sentence
):
    site = AuthMiddleware(echo, settings)
    trusted = {"trusted_proxy": "127.0.0.1", "clear_untrusted_proxy_headers": True}
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    with serving(site, trusted_proxy_headers=FORWARDED, **trusted) as address:
        block = servers([urlsplit(address).port] * 2)
        assert written in block
        block = block.replace(written, instead)
        if "SET" in block:  # in the location, whose directives replace those of the server
            directive = re.search("SET (.*?;)", block)[1]
            block = block.replace(f"SET {directive}", "").replace(
                "proxy_pass", f"proxy_set_header {directive} proxy_pass"
            )
        with nginx(tmp_path, block) as port:
            assert main(["check", "--url", f"https://127.0.0.1:{port}"]) == 0
    storage.discard_connection(site.database)
    *findings, _ = capsys.readouterr().out.splitlines()
    others = [each for each in findings if not each.startswith(READY)]
    assert len(others) == (sentence is not None)
    assert sentence is None or sentence in others[0]


@pytest.mark.parametrize("is_configured", [True, False])
def test_nginx_forwards_the_longest_requests_of_apps(provider, tmp_path, is_configured):
    (paragraph,) = [each for each in DEPLOYMENT.split("\n\n") if "proxy_buffer_size" in each]
    directives = re.findall("`([a-z_]+ [^`]+;)`", paragraph)
    assert len(directives) == 3
    app = app_client(provider, "Wiki", redirect_uris=["https://wiki.example.org/callback"])
    state = "\u65e5" * (4096 // 3)
    url = f"/auth/authorize?{urlencode(app.parameters(state=state, prompt='none'))}"
    with serving(provider) as address:
        added = " ".join(directives) if is_configured else "large_client_header_buffers 4 32k;"
        block = servers([urlsplit(address).port] * 2).replace("gzip on;", f"gzip on; {added}")
        with nginx(tmp_path, block) as port:
            context = ssl.create_default_context(cafile=tmp_path / "certificate.pem")
            client = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
            client.request("GET", url)
            answer = client.getresponse()
            client.close()
    assert answer.status == (303 if is_configured else 502)
    if is_configured:
        assert answer_in(answer.headers["Location"])["state"] == state


PROXIED = [
    command
    for title in ("One host", "Behind nginx or another proxy")
    for command, _ in shown(DEPLOYMENT, title)
    if "proxy" in command or "proxied" in command
]


@pytest.mark.parametrize("command", PROXIED)
def test_the_client_and_the_prefix_are_taken_from_the_proxy(command, serve, ada, folder):
    if "gunicorn" in command:
        require("gunicorn", "werkzeug")
    prefix = "/site" if "/site" in command else ""
    with serve(command) as port:
        forwarded = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
        body = f"username={USERNAME}&password=wrong".encode()
        status, page = ask(f"http://127.0.0.1:{port}{prefix}/auth/login", forwarded, body)
        assert status == 401
        assert f'action="{prefix}/auth/login"' in page
    assert "address=192.0.2.7" in (folder / "log").read_text()


def test_prometheus_gets_a_key_that_reads_the_metrics(run, folder):
    for command, output in shown(DEPLOYMENT, "Metrics"):
        assert run(command) == output
    key = (folder / "wsgiauth.key").read_text("utf-8").strip()
    site = AuthMiddleware(echo, replace(settings_of(folder), METRICS=True))
    metrics = TestApp(site).get("/auth/metrics", headers={"Authorization": f"Bearer {key}"})
    assert 'wsgiauth_users{state="active"} 1.0' in metrics.text
    storage.discard_connection(site.database)
