"""What endpoints with a form share."""

import pytest

from wsgiauth.app import ROUTES
from wsgiauth.forms import Form, Submission
from wsgiauth.forms.fields import SECRETS

PLAIN = """
    accept action again app cancel connect days decision disconnect email end end_keys group
    groups identity is_staff key language login name only_known permission permissions provider
    refresh remember remove rename revoke saved scope send_code trust trusted user username users
    version
"""


@pytest.mark.promise(30)
def test_a_submission_does_not_show_what_was_sent():
    environ = {"HTTP_AUTHORIZATION": "Bearer canary"}
    shown = repr(Submission(environ=environ, site=None, fields={"password": "canary"}))
    assert "canary" not in shown


@pytest.mark.promise(30)
def test_every_field_is_a_secret_or_can_be_on_a_page():
    forms = [each for each in ROUTES.values() if isinstance(each, Form)]
    names = {field.name for form in forms for field in form.fields}
    assert names == {*PLAIN.split(), *SECRETS}
