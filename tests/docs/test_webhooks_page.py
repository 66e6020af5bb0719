"""docs/webhooks.md: its receiver gets what a served site sends, and its commands work."""

import json
import re
from pathlib import Path

from tests.docs.pages import PAGES, code, commands, section
from tests.support.sites import running
from wsgiauth.features.webhooks import recorder, rows
from wsgiauth.features.webhooks.bodies import body_of
from wsgiauth.features.webhooks.queue import RETRIES

PAGE = PAGES["docs/webhooks.md"]
URL = "http://127.0.0.1:8001/hook"
GRACE = '{"username": "grace", "email": "grace@example.org", "password": "four unrelated words"}'


def test_the_receiver_gets_what_the_site_sends(folder, environ, serve, run, first_program):
    exports, test = [commands(block) for block in code(PAGE, "console")]
    (command,) = re.findall("`(waitress-serve .*?)`", PAGE)
    environ["WEBHOOK_KEY"] = run(f"{exports[1][0]}\necho $WEBHOOK_KEY").strip()
    with (folder / "received").open("w") as out:
        served = command.replace("8001", "8080")
        with running(served, cwd=folder, env=environ, stdout=out, stderr=out) as receiver:
            url = f"http://127.0.0.1:{receiver}/hook"
            exported = exports[0][0].replace(URL, url)
            ((sent, printed),) = test
            assert run(f"{exported}\n{sent.replace(URL, url)}") == printed
            with serve(first_program[-1][0], exported) as port:
                address = f"http://127.0.0.1:{port}/auth/register"
                run(f"curl -sf --json '{GRACE}' {address}")
                wait = (
                    "for i in $(seq 300); do grep registration received && break; sleep 0.1; done"
                )
                assert "'username': 'grace'" in run(wait)
    lines = (folder / "received").read_text("utf-8")
    assert "webhook_test None\n" in lines


def test_the_body_has_the_members_that_the_page_shows():
    (shown,) = code(section(PAGE, "Payload"), "json")
    assert json.loads(shown)["data"].keys() == {"user", "reason", "actor"}
    source = Path(body_of.__code__.co_filename).read_text("utf-8")
    for name in ("type", "timestamp", "data", "user", "reason", "actor", "username", "email"):
        assert f'"{name}"' in source


def test_the_page_has_the_numbers_of_the_code():
    assert RETRIES == (5, 300, 1800, 7200, 18_000, 36_000, 36_000)
    assert "5 seconds, 5 and 30 minutes, 2, 5, 10 and 10 hours" in PAGE
    assert f"At most {recorder.MOST:,} webhooks" in PAGE
    assert f"kept for {rows.KEPT // 86_400} days" in PAGE
