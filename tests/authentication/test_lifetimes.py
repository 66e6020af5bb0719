"""How long sessions live."""

from wsgiauth import Settings
from wsgiauth.authentication import lifetimes
from wsgiauth.authentication.lifetimes import DAY


def test_a_browser_stays_logged_in_for_as_long_as_it_keeps_a_cookie():
    for setting, days in [(0, 0), (30, 30), (400, 400), (401, 400), (3650, 400)]:
        settings = Settings(REMEMBER_DAYS=setting)
        assert lifetimes.remembered_days(settings) == days, (setting, days)
        remembered = lifetimes.of_browser(settings, remember=True).total
        assert remembered == (days * DAY or settings.SESSION_HOURS * lifetimes.HOUR), (
            setting,
            days,
        )


def test_a_program_stays_logged_in_for_as_long_as_the_setting_says():
    settings = Settings(REMEMBER_DAYS=3650)
    assert lifetimes.of_refreshable(settings, remember=True).total == 3650 * DAY
    assert lifetimes.longest(settings) == 3650 * DAY
