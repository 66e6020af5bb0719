"""What `check` says about trusted browsers."""

from tests.support.factors import FACTOR_KEY
from wsgiauth.features.trusted_browsers.feature import FEATURE


def test_check_warns_if_there_is_no_second_step(make_site):
    (question,) = FEATURE.questions

    def found(**changes):
        return list(question.ask(make_site(**changes).site))

    (warning,) = found(FACTOR_KEY=None)
    assert warning.is_risk
    assert "TRUSTED_BROWSER_DAYS" in warning.sentence
    assert found(FACTOR_KEY=FACTOR_KEY) == []
    assert found(FACTOR_KEY=None, TRUSTED_BROWSER_DAYS=0) == []
