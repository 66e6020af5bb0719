"""docs/frameworks.md: its list of what the tests run, and PasteDeploy.

The tests of its programs are in tests/frameworks.
"""

import re
import tomllib

from tests.contrib import test_flask_servers
from tests.docs.pages import PAGES, ROOT, section
from tests.frameworks.conftest import FILES
from tests.frameworks.test_servers import SERVERS, WITH_FRAMEWORKS
from tests.support.tables import row_by_row

TEXT = section(PAGES["docs/frameworks.md"], "Versions and servers")
ENTRIES = {
    name: run
    for names, run in re.findall("^- (.*?): (.*)$", TEXT, re.MULTILINE)
    for name in names.split(", ")
}
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
NEEDED = dict(re.match(r"(\w+)(?:\[.*?\])?(.*)", each).groups() for each in GROUPS["frameworks"])
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))

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


def test_all_programs_run_under_the_servers_of_the_first_sentence():
    *servers, last = WITH_FRAMEWORKS
    assert f"under {', '.join(servers)} and {last}," in TEXT


def test_any_callable_runs_under_the_servers_of_the_list():
    further = [each for each in SERVERS if each not in WITH_FRAMEWORKS]
    assert ENTRIES["any callable"] == f"also under {'; '.join(further)}"


@row_by_row("framework", ["Flask", "Django", "Pyramid", "Bottle", "Falcon", "CherryPy"])
def test_a_framework_runs_with_the_versions_and_servers_of_the_list(framework):
    (package,) = (each for each in NEEDED if each.lower() == framework.lower())
    *_, limit = NEEDED[package].partition("<")
    newest = f"the newest before {limit}" if limit else "the newest"
    others = re.findall(rf'"{framework}(?:\[\w+\])?==([\d.]+)\.\*"', TESTS, re.IGNORECASE)
    versions = [*sorted(set(others), key=lambda version: [*map(int, version.split("."))]), newest]
    servers = test_flask_servers.SERVERS if framework == "Flask" else ()
    further = [each for each in servers if each not in WITH_FRAMEWORKS]
    also = [f"also under {'; '.join(further)}"] if further else []
    assert ENTRIES[framework] == "; ".join([*versions, *also])


def test_the_page_leads_to_every_program():
    linked = re.findall(r"\]\(examples/frameworks/(.*?\.py)\)", PAGES["docs/frameworks.md"])
    assert sorted(linked) == sorted(path.name for path in FILES.glob("*.py"))
