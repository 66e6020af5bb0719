"""The setting FEATURES, and the settings of the features that it names."""

import sys
import traceback
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest

from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.features import Declaration
from wsgiauth.settings.kinds import FeatureSettings, string, switch, whole_number


@dataclass(frozen=True, kw_only=True)
class BadgeSettings(FeatureSettings):
    """Of the feature `BADGE`."""

    BADGE_COLOURS: int = whole_number(3, 1, 9, "how many colours there are")
    BADGE_GOLD: bool = switch(False, "whether there are golden ones")

    def contradictions(self):
        """Gold is a colour of its own."""
        if self.BADGE_GOLD and self.BADGE_COLOURS == 1:
            yield "BADGE_COLOURS", "at least 2, because BADGE_GOLD is on"


BADGE = Declaration(name="badge", settings=BadgeSettings)
PLAIN = Declaration(name="plain")


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that writes a module and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def write(source):
        names.append(f"badges_{tmp_path.name.replace('-', '_')}_{len(names)}")
        (tmp_path / f"{names[-1]}.py").write_text(source, encoding="utf-8")
        return names[-1]

    yield write
    for name in names:
        sys.modules.pop(name, None)


NAMED = """\
from tests.settings.test_features import BADGE
"""


def test_a_feature_is_imported_by_its_name(module):
    name = module(NAMED)
    made = Settings.from_mapping({"FEATURES": f"{name}:BADGE", "BADGE_COLOURS": "7"})
    assert BadgeSettings.of(made).BADGE_COLOURS == 7
    assert BadgeSettings.of(made).BADGE_GOLD is False


def fail(value):
    """Fail with the value in the message."""
    raise ValueError(value)


@dataclass(frozen=True, kw_only=True)
class SecretSettings(FeatureSettings):
    """Checked by functions that fail."""

    SECRET_BADGE: str = string("", "a badge", is_secret=True, is_valid=fail)
    SECRET_RISK: str = string("", "a badge", is_secret=True, risk=fail)


SECRET = Declaration(name="secret", settings=SecretSettings)


@pytest.mark.promise(105)
def test_a_check_of_a_setting_that_fails_shows_no_value():
    with pytest.raises(ConfigurationError) as caught:
        Settings(FEATURES=(SECRET,), SECRET_BADGE=SECRET_KEY)
    assert caught.value.problems == (
        "SECRET_BADGE must be a non-empty string or unset; its check fails (ValueError).",
    )
    assert SECRET_KEY not in "".join(traceback.format_exception(caught.value))
    (risk,) = Settings(FEATURES=(SECRET,), SECRET_RISK=SECRET_KEY).risks()
    assert risk == "SECRET_RISK cannot be checked for risks (ValueError)."


def test_code_can_name_the_feature_itself():
    made = Settings(FEATURES=[BADGE, PLAIN], BADGE_GOLD=True)
    assert made.FEATURES == (BADGE, PLAIN)
    assert BadgeSettings.of(made).BADGE_GOLD is True


def test_a_copy_of_settings_has_those_of_features():
    made = Settings(FEATURES=(BADGE,), BADGE_COLOURS=5)
    copied = replace(made, SITE_NAME="Library")
    assert (copied.BADGE_COLOURS, copied.SITE_NAME) == (5, "Library")
    assert copied == Settings(FEATURES=(BADGE,), BADGE_COLOURS=5, SITE_NAME="Library")
    assert replace(Settings(), FEATURES=(BADGE,)).BADGE_COLOURS == 3


def test_the_features_of_a_copy_stay():
    made = Settings(FEATURES=(BADGE,))
    other = Declaration(name="other", settings=type("OtherSettings", (FeatureSettings,), {}))
    with pytest.raises(ConfigurationError, match="FEATURES must be the same in a copy"):
        replace(made, FEATURES=(BADGE, other))


def test_a_site_without_the_feature_has_not_its_settings():
    assert "BADGE_COLOURS" not in {each.name for each in fields(Settings)}
    with pytest.raises(TypeError, match="BADGE_COLOURS"):
        Settings(BADGE_COLOURS=5)
    with pytest.raises(TypeError, match="FEATURES has no feature with the settings BadgeSettings"):
        BadgeSettings.of(Settings(FEATURES=(PLAIN,)))


def test_a_mapping_without_the_feature_ignores_its_settings():
    assert Settings.from_mapping({"BADGE_COLOURS": "99"}) == Settings()


WRONG = {
    "a value": ({"BADGE_COLOURS": 10}, "BADGE_COLOURS must be a whole number from 1 to 9."),
    "a string": (
        {"BADGE_GOLD": "on"},
        "BADGE_GOLD must be on or off; in code, write True, not 'on'.",
    ),
    "two that do not fit": (
        {"BADGE_COLOURS": 1, "BADGE_GOLD": True},
        "BADGE_COLOURS must be at least 2, because BADGE_GOLD is on.",
    ),
}


@pytest.mark.parametrize(("values", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_of_a_feature_is_named_beside_ours(values, problem):
    with pytest.raises(ConfigurationError) as caught:
        Settings(FEATURES=(BADGE,), LINK_MINUTES=1, **values)
    assert [*caught.value.problems] == [
        "LINK_MINUTES must be a whole number from 5 to 1440.",
        problem,
    ]


EXPECTED = "FEATURES must be names of features such as organisations.feature:FEATURE"
ENTRIES = {
    "no name in the module": ("json badges", f"{EXPECTED}, between spaces; 'json' is none."),
    "a comma": ("a:A,b:B", f"{EXPECTED}, between spaces; 'a:A,b:B' is none."),
    "no entry": ((3,), f"{EXPECTED}, between spaces; 3 is neither a name nor a Feature."),
    "no list": (BADGE, EXPECTED),
    "a missing module": (
        "no_such_module:FEATURE",
        "; no_such_module:FEATURE fails (ModuleNotFoundError: No module named 'no_such_module')",
    ),
    "a missing name": ("json:FEATURE", "; json:FEATURE fails (AttributeError: module 'json'"),
    "another object": ("json:loads", "; json:loads is of the type function, not Feature"),
    "the same feature twice": ((PLAIN, PLAIN), "different features; plain is in it twice"),
    "a name that SQLite reserves": (
        (Declaration(name="sqlite"),),
        "features whose tables SQLite allows; sqlite is its own name",
    ),
    "a folder that does not exist": (
        (Declaration(name="badge", folder=Path("/no/such/folder")),),
        "features whose folders exist; /no/such/folder of badge does not",
    ),
    "an unusable name": (
        (Declaration(name="Bad-Ge"),),
        "features with names such as organisations, in lower case; 'Bad-Ge' is none",
    ),
}


@pytest.mark.parametrize(("value", "problem"), ENTRIES.values(), ids=ENTRIES)
def test_a_wrong_feature_is_refused_by_its_name(value, problem):
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_mapping({"FEATURES": value})
    (found,) = caught.value.problems
    assert found.startswith("FEATURES must be ")
    assert problem in found


@pytest.mark.promise(105)
@pytest.mark.parametrize(
    ("source", "reason"),
    [("1 / 0\n", "ZeroDivisionError: division by zero"), ("exit(0)\n", "SystemExit: 0")],
    ids=["an exception", "an exit"],
)
def test_a_module_that_fails_is_named_with_its_error(source, reason, module):
    name = module(source)
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_mapping({"FEATURES": f"{name}:BADGE"})
    assert f"{name}:BADGE fails ({reason})" in str(caught.value)
    assert reason.startswith(type(caught.value.__cause__).__name__)


def test_the_error_of_a_feature_about_its_own_set_up_is_its_own(module):
    name = module(
        "from wsgiauth.exceptions import ConfigurationError\n"
        "raise ConfigurationError('pip install badges[gold]')\n"
    )
    with pytest.raises(ConfigurationError, match=r"^pip install badges\[gold\]$"):
        Settings.from_mapping({"FEATURES": f"{name}:BADGE"})


@dataclass(frozen=True, kw_only=True)
class NamedAnyhow(FeatureSettings):
    """A name that another feature could have, or a later version of wsgiauth."""

    COLOURS: int = whole_number(3, 1, 9, "how many colours there are")


@dataclass(frozen=True, kw_only=True)
class Undeclared(FeatureSettings):
    """A field that no function has declared."""

    BADGE_COLOURS: int = 3


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (NamedAnyhow, "The setting COLOURS of the feature badge must begin with BADGE_."),
        (
            Undeclared,
            "The setting BADGE_COLOURS of the feature badge must be declared by a function of"
            " wsgiauth.extend, such as whole_number.",
        ),
    ],
)
def test_a_setting_of_a_feature_begins_with_its_name_and_is_declared(kind, problem):
    with pytest.raises(ConfigurationError) as caught:
        Settings(FEATURES=(Declaration(name="badge", settings=kind),))
    assert str(caught.value) == problem


@dataclass(frozen=True, kw_only=True)
class MailSettings(FeatureSettings):
    """Of a feature whose name is the beginning of our settings."""

    MAIL_FROM: int = whole_number(3, 1, 9, "how many there are")


@dataclass(frozen=True, kw_only=True)
class GoldSettings(FeatureSettings):
    """Of a feature whose name is the beginning of another one's settings."""

    BADGE_GOLD: bool = switch(False, "whether there are golden ones")


CONFLICTS = {
    "with wsgiauth": (
        (Declaration(name="mail", settings=MailSettings),),
        "Two features have the setting MAIL_FROM: wsgiauth and mail.",
    ),
    "with each other": (
        (BADGE, Declaration(name="bad", settings=GoldSettings)),
        "Two features have the setting BADGE_GOLD: badge and bad.",
    ),
}


@pytest.mark.parametrize(("features", "problem"), CONFLICTS.values(), ids=CONFLICTS)
def test_two_features_cannot_have_the_same_setting(features, problem):
    with pytest.raises(ConfigurationError) as caught:
        Settings(FEATURES=features)
    assert str(caught.value) == problem


def having(**attributes):
    """Return a class of settings with further attributes."""
    made = type("FurtherSettings", (FeatureSettings,), attributes)
    return dataclass(frozen=True, kw_only=True)(made)


def do_nothing(*given, **named):
    """Replace a function that does something."""


ATTRIBUTES = ("__post_init__", "__new__", "__getattribute__", "__bool__", "risks", "secret_keys")


@pytest.mark.promise(105)
@pytest.mark.parametrize("name", [*ATTRIBUTES, "_contradictions", "from_mapping"])
def test_settings_of_a_feature_replace_no_attribute_of_ours(name):
    feature = Declaration(name="badge", settings=having(**{name: do_nothing}))
    with pytest.raises(ConfigurationError) as caught:
        Settings(FEATURES=(feature,), LINK_MINUTES=1)
    problem = f"Two features have {name} among the attributes of settings: wsgiauth and badge."
    assert str(caught.value) == problem


@pytest.mark.promise(105)
def test_settings_of_a_feature_replace_no_attribute_of_another_one():
    features = [
        Declaration(name=name, settings=having(shape=property(lambda self: "round")))
        for name in ("badge", "medal")
    ]
    assert Settings(FEATURES=features[:1]).shape == "round"
    with pytest.raises(ConfigurationError, match=r"have shape among .*: badge and medal\."):
        Settings(FEATURES=features)


class Safe:
    """A base that another class of settings can have, too."""

    def risks(self):
        """Name none."""
        return []


@pytest.mark.promise(105)
@pytest.mark.parametrize("bases", [(Safe, FeatureSettings), (FeatureSettings, Safe)])
def test_a_further_base_of_settings_replaces_no_attribute_of_ours(bases):
    kind = dataclass(frozen=True, kw_only=True)(type("FurtherSettings", bases, {}))
    with pytest.raises(ConfigurationError, match="have risks among"):
        Settings(FEATURES=[Declaration(name="badge", settings=kind)])


def test_folders_of_a_feature_are_those_that_there_are(tmp_path):
    (tmp_path / "templates").mkdir()
    feature = Declaration(name="badge", folder=tmp_path)
    assert feature.templates == tmp_path / "templates"
    assert (feature.migrations, feature.catalogues) == (None, None)
    assert BADGE.templates is None
