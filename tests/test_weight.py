"""What a process has not imported yet at each stage of its life."""

import pytest

from tests.storage.conftest import run_python

# One process for all stages: each takes most of a second to import a site.
PROGRAM = """
import sys
import wsgiauth

print(*{"wsgiauth.app", "wsgiauth.features.registry", "jwt", "ssl"} & {*sys.modules})

import wsgiauth.app

late = {"argparse", "wsgiauth.console", "wsgiauth.openapi.objects"}
late |= {"wsgiauth.extend.console", "wsgiauth.extend.openapi"}
print(*late & {*sys.modules})
print("wsgiauth.extend" in sys.modules)

import io, json
from wsgiauth import AuthMiddleware, login_required
from wsgiauth.testing import make_settings, make_user

print(*{"bs4", "webtest"} & {*sys.modules})

def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"Hello"]

site = AuthMiddleware(login_required(hello), make_settings())
make_user(site, "ada", password="four unrelated words")
statuses = []

def ask(method, path, body=b"", **environ):
    asked = {"REQUEST_METHOD": method, "PATH_INFO": path, "SCRIPT_NAME": "", "QUERY_STRING": ""}
    asked |= {"wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(body), "REMOTE_ADDR": "::1"}
    asked |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
    asked |= {"HTTP_ACCEPT": "application/json", **environ}
    return b"".join(site(asked, lambda line, *_: statuses.append(line[:3])))

account = {"username": "ada", "password": "four unrelated words"}
token = json.loads(ask("POST", "/auth/login", json.dumps(account).encode()))["access_token"]
ask("GET", "/", HTTP_AUTHORIZATION=f"Bearer {token}")
ask("GET", "/")
print(*statuses, *({"jinja2", "webob"} & {*sys.modules}))
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Return the lines of the program."""
    return run_python(PROGRAM, tmp_path_factory.mktemp("weight")).splitlines()


def test_an_import_loads_no_feature_before_a_site_needs_it(printed):
    assert printed[0] == ""


def test_a_site_imports_nothing_that_only_commands_or_the_document_need(printed):
    assert printed[1:3] == ["", "True"]


def test_the_rules_for_features_are_imported_only_when_they_are_tried(printed):
    assert printed[3] == ""


@pytest.mark.slow
def test_logins_by_programs_import_neither_jinja_nor_webob(printed):
    assert printed[4] == "200 200 401"
