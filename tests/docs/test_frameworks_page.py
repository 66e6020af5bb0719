"""docs/frameworks.md: PasteDeploy; the tests of its recipes are in tests/frameworks."""

ASK_THE_SITE = """
from paste_site import application
from webtest import TestApp

TestApp(application).get("/", status=401)
TestApp(application).get("/auth/login", status=200)
"""


def test_the_ini_file_serves_a_guarded_application(run, folder):
    (folder / "ask.py").write_text(ASK_THE_SITE, encoding="utf-8")
    run("python ask.py")
    assert (folder / "site.db").exists()
