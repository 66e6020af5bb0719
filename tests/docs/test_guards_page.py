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


ASK_THE_PARTS = """
from parts import application, site
from webtest import TestApp
from wsgiauth.testing import bearer, make_user

client = TestApp(application)
print(TestApp(site).get("//secret").text, client.get("/").text, client.get("/static/a").text)
for path in ("/secret", "//secret/", "/x/../secret/", "/secret;a=b", "/secret%00", "/other"):
    client.get(path, status=401)
ada = bearer(application)
client.get("/other", headers=ada)
for path in ("/secret/plans", "//secret", "/SECRET", "/reports/"):
    client.get(path, headers=ada, status=403)
grace = make_user(application, "grace", permissions=["code.secret"])
print(client.get("//secret", headers=bearer(application, grace)).text)
"""


def test_the_report_is_for_logged_in_users(run, folder):
    (folder / "ask.py").write_text(ASK_THE_REPORT, encoding="utf-8")
    assert run("python ask.py") == "for ada only\n"


def test_everything_that_is_not_public_needs_a_login(run, folder):
    (folder / "ask.py").write_text(ASK_EVERYWHERE, encoding="utf-8")
    assert run("python ask.py") == "Welcome For members\nFor members\n"


def test_each_part_needs_what_its_rule_says(run, folder):
    (folder / "ask.py").write_text(ASK_THE_PARTS, encoding="utf-8")
    assert run("python ask.py") == "The plans Welcome Not here\nThe plans\n"
