"""The samples of features, which tests of all features ask, have each URL, demand and command."""

import pytest

from tests.support import features
from tests.support.commands import command_lines
from tests.support.identities import ENTRY
from wsgiauth import Settings
from wsgiauth.cli import all_commands
from wsgiauth.feature import Feature
from wsgiauth.features.registry import FEATURES

WITHOUT_DATABASE = {"preview", "secret", "settings"}
ENDLESS = {"serve"}


@pytest.mark.parametrize("feature", FEATURES, ids=lambda each: each.name)
def test_the_settings_of_the_samples_turn_all_of_a_feature_on(feature, tmp_path):
    settings = Settings.from_mapping(features.settings(tmp_path, ENTRY))
    advice = f"turn on all of it in `settings` of {features.place(feature.name)}"
    assert not [path for path, each in feature.urls.items() if not each.is_offered(settings)], (
        advice
    )
    for declared in ("demands", "staff_sections", "credential_kinds"):
        of_feature = getattr(feature, declared)
        assert of_feature is getattr(Feature, declared) or [*of_feature(settings)], advice


def test_each_command_is_run_by_the_tests(tmp_path):
    run = {line.split()[0] for line in command_lines(tmp_path)}
    commands = all_commands()
    missing = commands.keys() - run - WITHOUT_DATABASE - ENDLESS
    places = {
        name: features.place_of(commands[name].module, "tests/support/commands.py")
        for name in missing
    }
    assert not missing, f"add these to `commands` of {places}"
