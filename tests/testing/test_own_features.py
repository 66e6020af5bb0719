"""Our own features keep the rules that `wsgiauth.testing` has for features of others."""

import pytest

from tests.support import features
from tests.support.identities import ENTRY
from tests.support.mails import MAIL
from tests.testing.findings import lines
from wsgiauth import Settings
from wsgiauth.features.registry import FEATURES
from wsgiauth.settings.kinds import declarations

SETTINGS = declarations(Settings)
FURTHER = {
    "factors": {"PUBLIC_URL": MAIL["PUBLIC_URL"]},  # of the passkeys of the samples
    "links": {"VERIFICATION": True},
}
RIGHT_HERE = {
    # Pages have it in a cookie.
    "login_codes": ["forms: /code/enter: no example of its page has the field 'request'"],
    # The code is the device's, and its page shows it to the user.
    "oauth_server": [
        "endpoints: POST /device: to a user, it repeats what a user types into the field of a"
        " secret",
        "endpoints: POST /device: to the staff, it repeats what a user types into the field of a"
        " secret",
    ],
}


@pytest.mark.slow
@pytest.mark.uncounted
@pytest.mark.parametrize("feature", FEATURES, ids=lambda each: each.name)
def test_each_of_our_features_keeps_the_rules(feature, tmp_path):
    make = features.declared("settings").get(feature.name, lambda folder, provider: {})
    given = {name: SETTINGS[name].parse(text) for name, text in make(tmp_path, ENTRY).items()}
    samples = features.samples().get(feature.name)

    def fill(site, user):
        getattr(samples, "fill", lambda site, user: None)(site, user)
        return getattr(samples, "path_values", lambda site, user: {})(site, user)

    found = lines(feature, given | FURTHER.get(feature.name, {}), languages=["de"], fill=fill)
    assert found == RIGHT_HERE.get(feature.name, [])
