"""What curl gets, and every other program that accepts anything: problem details, and no page."""

import pytest
from webtest import TestApp

from tests.support import features
from tests.support.driving import make_site
from tests.support.sites import PASSWORD, USERNAME
from wsgiauth import storage
from wsgiauth.app import ROUTES
from wsgiauth.testing import bearer, make_user

pytestmark = pytest.mark.promise(19)

BODY = f'{{"username": "{USERNAME}", "password": "{PASSWORD}"}}'
FORM = "application/x-www-form-urlencoded"  # which curl sends with --data
OTHERS = ["text/json", "text/plain", "multipart/form-data; boundary=x", "application/problem+json"]

PROGRAMS = ("application/json", "application/problem+json")

# Takes no field from a program. `WITHOUT_JSON` of a feature's samples has other such paths.
OTHERWISE = {"/logout": 200}
for each in features.declared("WITHOUT_JSON").values():
    OTHERWISE |= each
FOR_OTHERS = {path for path, status in OTHERWISE.items() if status is None}
POSTED = [
    path for path, each in ROUTES.items() if "POST" in each.handlers and path not in FOR_OTHERS
]


@pytest.fixture
def send(database_url, tmp_path, provider, unsent):
    """Return a function that sends a request as curl does, to a path of `ROUTES`."""
    site = make_site(database_url, tmp_path, provider, has_demands=True)
    staff = make_user(site, USERNAME, password=PASSWORD, is_staff=True, is_superuser=True)
    values, of_staff = features.path_values(site, staff), bearer(site, staff)

    def send_one(path, method="POST", media_type=FORM, *, is_staff=True):
        caller = of_staff if is_staff else {}
        headers = {"Accept": "*/*", "Content-Type": media_type, **caller}
        sent = {"method": method, "body": BODY.encode(), "headers": headers}
        return TestApp(site).request(f"/auth{path.format(**values)}", status="*", **sent)

    yield send_one
    site.site.outbox.stop()
    storage.discard_connection(site.database)


def test_json_with_the_type_of_a_form_gets_the_name_of_the_header(send):
    for path in sorted(POSTED, key="/logout".__eq__):  # last, which ends the session
        assert send(path, is_staff=False).content_type in PROGRAMS, path
        answer = send(path)
        assert (path, answer.status_int) == (path, OTHERWISE.get(path, 415))
        assert answer.content_type in PROGRAMS, path
        if path not in OTHERWISE:
            assert "Content-Type" in answer.json["detail"]
            assert "application/json" in answer.json["detail"]


def test_another_type_gets_the_names_of_those_that_can_be_read(send):
    for path in sorted(set(POSTED) - OTHERWISE.keys()):
        for media_type in OTHERS:
            answer = send(path, media_type=media_type)
            assert (answer.status_int, answer.content_type) == (415, PROGRAMS[1]), path
            assert "application/json" in answer.json["detail"]


def test_another_method_gets_the_names_of_those_that_are_allowed(send):
    for path in sorted(path for path, each in ROUTES.items() if not each.answers_any_method):
        for method in ("PUT", "PATCH", "DELETE"):
            answer = send(path, method)
            assert (answer.status_int, answer.content_type) == (405, PROGRAMS[1]), path
            assert all(each in answer.json["detail"] for each in ROUTES[path].handlers)
