"""What `check` says about trusted browsers."""

import pytest

from tests.support.factors import FACTOR_KEY
from wsgiauth.features.trusted_browsers.feature import FEATURE


@pytest.mark.parametrize(
    ("changes", "is_warned"),
    [
        pytest.param({"FACTOR_KEY": FACTOR_KEY}, False, id="with a second factor"),
        pytest.param({"FACTOR_KEY": None}, True, id="without a second factor"),
        pytest.param({"FACTOR_KEY": None, "TRUSTED_BROWSER_DAYS": 0}, False, id="without either"),
    ],
)
def test_check_warns_if_there_is_no_second_step(make_site, changes, is_warned):
    (question,) = FEATURE.questions
    found = list(question.ask(make_site(**changes).site))
    assert [each.is_risk for each in found] == [True] * is_warned
    assert all("TRUSTED_BROWSER_DAYS" in each.sentence for each in found)
