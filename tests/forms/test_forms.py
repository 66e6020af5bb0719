"""What endpoints with a form share."""

import pytest

from wsgiauth.forms import Submission


@pytest.mark.promise(30)
def test_a_submission_does_not_show_what_was_sent():
    environ = {"HTTP_AUTHORIZATION": "Bearer canary"}
    shown = repr(Submission(environ=environ, site=None, fields={"password": "canary"}))
    assert "canary" not in shown
