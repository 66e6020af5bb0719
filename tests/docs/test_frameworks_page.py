"""docs/frameworks.md: PasteDeploy; the tests of its recipes are in tests/frameworks."""

ASK_THE_SITE = """
from paste_site import application
from webtest import TestApp

TestApp(application).get("/", status=401)
TestApp(application).get("/auth/login", status=200)
"""

ASK_THE_SAMPLE = """
from pathlib import Path

from paste.deploy import loadapp
from webtest import TestApp

sample = loadapp(f"config:{Path('sample.ini').absolute()}")
TestApp(sample).get("/", status=200)
"""


def test_the_ini_file_serves_a_guarded_application(run, folder):
    (folder / "ask.py").write_text(ASK_THE_SITE, encoding="utf-8")
    run("python ask.py")
    assert (folder / "site.db").exists()


def test_the_sample_is_an_application_of_pastedeploy(run, folder):
    ini = "[app:main]\nuse = egg:wsgi-accounts\n"
    (folder / "sample.ini").write_text(ini, encoding="utf-8")
    (folder / "ask.py").write_text(ASK_THE_SAMPLE, encoding="utf-8")
    run("python ask.py")
