"""The command that lists the settings."""

import json
from dataclasses import dataclass, fields

import pytest

from tests.support.badges.feature import BadgeSettings
from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.cli import main
from wsgiauth.settings.features import Declaration
from wsgiauth.settings.kinds import FeatureSettings

BADGES = "tests.support.badges.feature:FEATURE"
OWN = [each.name for each in fields(Settings)]
OF_BADGES = [each.name for each in fields(BadgeSettings)]


@pytest.fixture
def listed(monkeypatch, capsys):
    """Return a function that runs the command with an environment: status, output and errors."""
    for name in (*OWN, *OF_BADGES, "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*argv, **environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        status = main(["settings", *argv])
        return status, *capsys.readouterr()

    return run


def documents(answer):
    """Return the objects of --json by name."""
    status, output, errors = answer
    assert (status, errors) == (0, "")
    return {each["name"]: each for each in json.loads(output)}


@pytest.fixture
def refused(listed, capsys):
    """Return a function that returns the complaint about a name."""

    def run(name):
        with pytest.raises(SystemExit, match="2"):
            listed(name)
        return capsys.readouterr().err.splitlines()[-1]

    return run


def test_each_setting_has_a_paragraph(listed):
    status, output, errors = listed()
    assert (status, errors) == (0, "")
    paragraphs = output.split("\n\n")
    assert [each.partition(" (not set)\n")[0] for each in paragraphs] == OWN
    assert (
        "LINK_MINUTES (not set)\n"
        "  How long the link in an email can be used. Default: `60`; 5 to 1440." in paragraphs
    )
    assert (
        "SITE_LOGO_DARK (not set)\n"
        "  Another logo for dark pages. A path of the site such as /static/logo-dark.svg.\n"
        "  Needs SITE_LOGO."
    ) in paragraphs


def test_a_value_is_shown_as_in_a_shell(listed):
    _, output, _ = listed("SITE_NAME", "passkeys", SITE_NAME="Ada\x1b & Sons", PASSKEYS="on")
    assert output.splitlines() == [
        r"SITE_NAME='Ada\x1b & Sons'",
        "  The name of the site, in the title and above the heading of every page. A",
        "  non-empty string or unset.",
        "",
        "PASSKEYS=on",
        "  Whether users can log in with passkeys. `on` or `off` (the default).",
    ]


def test_lines_are_as_wide_as_the_terminal_but_not_too_long(listed):
    for columns, widest in (("80", 80), ("1000", 100)):
        _, output, _ = listed(COLUMNS=columns)
        assert widest - 5 <= max(map(len, output.splitlines())) <= widest


def test_no_secret_is_shown(listed):
    secrets = {
        "SECRET_KEY": SECRET_KEY,
        "DATABASE_URL": "postgresql://ada:hidden@localhost/library",
        "MAIL_URL": "smtp://ada:hidden@localhost",
        "PUBLIC_URL": "https://hidden@example.org",  # which it should not have
        "SUPPORT_URL": "https://example.org/?password=hidden",
        "FEATURES": BADGES,
        "BADGES_KEY": "hidden",
        "BADGES_SHOP": "https://ada:hidden@example.org",
    }
    for options in ((), ("--json",)):
        status, output, _ = listed(*options, **secrets)
        assert status == 0
        assert "hidden" not in output
        assert SECRET_KEY not in output
    found = documents(listed("--json"))
    assert [found[name]["is_set"] for name in secrets] == [True] * len(secrets)
    assert "BADGES_KEY (set)\n" in listed()[1]


PARAMETERS = ("token", "api_key", "X-Amz-Signature", "client_secret", "pwd", "ACCESS_TOKEN", "sig")


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_no_secret_in_the_query_of_a_url_is_shown(parameter, listed):
    url = f"https://hook.example.org/?room=7&{parameter}=hidden"
    for options in ((), ("--json",)):
        assert "hidden" not in listed(*options, SECRET_KEY=SECRET_KEY, SUPPORT_URL=url)[1]
    shown = "https://example.org/?room=7#contact"
    assert shown in listed(SECRET_KEY=SECRET_KEY, SUPPORT_URL=shown)[1]


def test_json_has_what_is_declared(listed):
    environ = {"SECRET_KEY": SECRET_KEY, "FEATURES": BADGES, "BADGES_COLOURS": "7"}
    found = documents(listed("--json", **environ))
    assert [each["problem"] for each in found.values() if each["problem"]] == []
    assert list(found) == [*OWN, *OF_BADGES]
    assert found["BADGES_COLOURS"] == {
        "name": "BADGES_COLOURS",
        "feature": "badges",
        "meaning": "how many colours there are",
        "default": "3",
        "expected": "a whole number from 1 to 9",
        "needs": None,
        "is_secret": False,
        "is_set": True,
        "value": "7",
        "problem": None,
    }
    defaults = {name: found[name]["default"] for name in ("REGISTRATION", "OAUTH_SCHEMES")}
    assert defaults == {"REGISTRATION": "on", "OAUTH_SCHEMES": "cursor vscode vscode-insiders"}
    assert found["LOGIN_CODES"]["feature"] is None


def test_the_feature_of_a_setting_is_named(listed):
    assert listed("BADGES_COLOURS", FEATURES=BADGES)[1] == (
        "BADGES_COLOURS (not set)\n"
        "  How many colours there are. Default: `3`; 1 to 9. Of the feature badges.\n"
    )


def test_wrong_and_missing_settings_are_named_beside_their_values(listed):
    wrong = {"BCRYPT_ROUNDS": "3", "BADGES_COLOURS": "many", "FEATURES": BADGES}
    found = documents(listed("--json", TERMS_VERSION="2026-11-28", **wrong))
    assert {name: each["problem"] for name, each in found.items() if each["problem"]} == {
        "SECRET_KEY": "SECRET_KEY must be set: `python -m wsgiauth secret` prints a new one.",
        "BCRYPT_ROUNDS": "BCRYPT_ROUNDS must be a whole number from 4 to 31.",
        "TERMS_URL": "TERMS_URL must be set, because TERMS_VERSION is.",
        "BADGES_COLOURS": "BADGES_COLOURS must be a whole number from 1 to 9.",
    }
    assert "Wrong: BCRYPT_ROUNDS must be a whole" in listed("BCRYPT_ROUNDS")[1]


def test_an_empty_value_is_not_set(listed):
    assert listed("SITE_NAME", SITE_NAME="")[1].startswith("SITE_NAME (not set)\n")


def test_the_database_of_the_option_is_the_value(listed):
    assert listed("DATABASE_URL", "--database", "sqlite:///x.db")[1].startswith("DATABASE_URL (set")


def test_an_unknown_name_is_refused_with_a_similar_one(refused):
    for typed, complaint in {
        "SITE_NAMES": "there is no setting 'SITE_NAMES'; did you mean SITE_NAME?",
        "SECRET_KEYS=hidden": "there is no setting 'SECRET_KEYS'; did you mean SECRET_KEY?",
        "x": "there is no setting 'x'",
    }.items():
        assert refused(typed) == f"wsgiauth settings: error: {complaint}"


def test_a_feature_that_cannot_be_imported_is_named_after_all_that_can(listed, refused):
    status, output, errors = listed(FEATURES=f"missing:FEATURE {BADGES}", BCRYPT_ROUNDS="3")
    assert status == 1
    assert "BADGES_COLOURS (not set)" in output
    assert "Wrong: BCRYPT_ROUNDS must be" in output
    (line,) = errors.splitlines()
    assert line.startswith("wsgiauth: FEATURES must be names of features such as ")
    assert "missing:FEATURE fails (ModuleNotFoundError: No module named 'missing')" in line
    assert "'MISSING_KEY'; FEATURES must be names of features" in refused("MISSING_KEY")


@pytest.mark.parametrize("value", [f"{BADGES} {BADGES}", "nonsense"], ids=["twice", "no name"])
def test_another_wrong_value_of_features_is_named_too(listed, value):
    status, output, errors = listed("FEATURES", FEATURES=value)
    assert (status, errors.startswith("wsgiauth: FEATURES must be")) == (1, True)
    assert "Wrong: FEATURES must be" in output


@dataclass(frozen=True, kw_only=True)
class _WrongSettings(FeatureSettings):
    WRONG_COLOUR: str = "red"


WRONG = Declaration(name="wrong", settings=_WrongSettings)


def test_a_feature_whose_settings_are_not_declared_is_named(listed):
    status, output, errors = listed(FEATURES=f"{__name__}:WRONG")
    assert (status, "WRONG_COLOUR" in output) == (1, False)
    assert errors.startswith("wsgiauth: The setting WRONG_COLOUR of the feature wrong must")
