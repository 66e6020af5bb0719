"""docs/guards.md: its programs answer each client as it says."""

ASK_THE_REPORT = """
from guards import application
from webtest import TestApp
from wsgiauth.testing import bearer

TestApp(application).get("/", status=401)
print(TestApp(application).get("/", headers=bearer(application)).text)
"""


ASK_EVERYWHERE = """
from closed import application
from webtest import TestApp
from wsgiauth.testing import bearer

client = TestApp(application)
print(client.get("/").text, client.get("/static/logo.svg").text)
for path in ("/minutes", "/static/../minutes", "/static/100%25.png", "/static", "/robots.txt/"):
    client.get(path, status=401)
print(client.get("/minutes", headers=bearer(application)).text)
"""


def test_the_report_is_for_logged_in_users(run, folder):
    (folder / "ask.py").write_text(ASK_THE_REPORT, encoding="utf-8")
    assert run("python ask.py") == "for ada only\n"


def test_everything_that_is_not_public_needs_a_login(run, folder):
    (folder / "ask.py").write_text(ASK_EVERYWHERE, encoding="utf-8")
    assert run("python ask.py") == "Welcome For members\nFor members\n"
