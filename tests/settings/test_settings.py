"""Settings: what is accepted, what is refused, and that nothing secret is said."""

import dataclasses
import os
import traceback

import pytest

from tests.support.settings import LONG_KEY, accepted, refused
from tests.support.sites import SECRET_KEY
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.exceptions import ConfigurationError, WsgiAuthError

pytestmark = pytest.mark.promise(29)

PASSWORD_IN_URL = "postgresql://ada:hunter2canary@db.example.org/accounts"


def test_a_process_hashes_on_every_processor_that_it_can_use():
    assert len(os.sched_getaffinity(0)) == Settings().HASHING_THREADS


IN_RANGE = [
    *(("JWT_ALGORITHM", algorithm) for algorithm in ("HS256", "HS384", "HS512")),
    *(("JWT_EXPIRY_MINUTES", minutes) for minutes in (1, 5_256_000)),
    *(("BCRYPT_ROUNDS", rounds) for rounds in (4, 31)),
    *(("LOGIN_FAILURES_PER_ACCOUNT", number) for number in (0, 1000)),
    *(("LOGIN_FAILURES_PER_ADDRESS", number) for number in (0, 1_000_000)),
    *(("LOGINS_PER_ACCOUNT", number) for number in (0, 1_000_000)),
    *(("REGISTRATIONS_PER_ADDRESS", number) for number in (0, 1_000_000)),
    *(("HASHING_THREADS", number) for number in (1, 1000)),
    *(("HASHING_PER_ADDRESS", number) for number in (0, 1000)),
    *(("PASSWORD_MIN_LENGTH", length) for length in (8, 72)),
    *(("PASSWORD_WORDS", words) for words in ((), ("Acme",), ("Acme Widgets", "a" * 254))),
    *(("DATABASE_URL", url) for url in ("sqlite:///:memory:", "mysql+pool://h/d")),
    *(("REGISTRATION", switch) for switch in (True, False)),
    *(("LINK_MINUTES", minutes) for minutes in (5, 1440)),
    *(("MAILS_PER_ACCOUNT", number) for number in (0, 1000)),
    *(("MAILS_PER_ADDRESS", number) for number in (0, 1_000_000)),
    *(("COOKIE_NAME", name) for name in ("a", "Host-a", "!#$%&'*+-.^_`|~09azAZ", "x" * 64)),
    *(("COOKIE_SECURE", choice) for choice in ("auto", "on")),
    ("NEXT_HOSTS", ()),
    *((name, "https://example.org") for name in ("JWT_ISSUER", "JWT_AUDIENCE")),
    ("SITE_NAME", "Ada & Sons"),
    *(("SITE_LOGO", path) for path in ("/logo.svg", "/static/logo.png?v=2", "/%C3%A9.svg")),
    *(("SITE_COLOR", color) for color in ("#0b6868", "#FFD400", "#000000", "#ffffff")),
    *(
        (name, url)
        for name in ("SUPPORT_URL", "TERMS_URL", "PRIVACY_URL")
        for url in ("https://a.example", "https://a.example:8443/b/%C3%A9?c=d&e#f")
    ),
    ("SUPPORT_URL", "mailto:help+login@example.org?subject=Login%20problem"),
    *((name, "/about?page=2#terms") for name in ("TERMS_URL", "PRIVACY_URL")),
    ("PAGE_SOURCES", ("https://fonts.example.org", "http://localhost:8000")),
    ("TEMPLATES", "."),
    ("TRUSTED_ORIGINS", ("https://a.example", "http://[::1]:8080")),
    *(("SECRET_KEY_FALLBACKS", keys) for keys in ((), (LONG_KEY,), (LONG_KEY, SECRET_KEY))),
]


def test_a_value_in_range_is_kept():
    kept = [(name, getattr(Settings(**{name: value}), name)) for name, value in IN_RANGE]
    assert kept == IN_RANGE


@row_by_row(
    ("values", "named"),
    [
        pytest.param(
            {"BCRYPT_ROUNDS": 3, "REGISTRATION": "on", "COOKIE_NAME": ""},
            ["COOKIE_NAME", "REGISTRATION", "BCRYPT_ROUNDS"],
            id="values",
        ),
        pytest.param(
            {"VERIFICATION": True, "PASSKEYS": True, "SECRET_KEY": "x"},
            ["MAIL_URL", "PUBLIC_URL", "SECRET_KEY"],
            id="settings that do not fit",
        ),
        pytest.param(
            {"MAIL_URL": "tea", "VERIFICATION": True},
            ["MAIL_URL", "MAIL_FROM", "PUBLIC_URL"],
            id="a wrong value counts as set",
        ),
        pytest.param(
            {"SECOND_FACTOR": "all", "FACTOR_KEY": 7, "JWT_ALGORITHM": "none"},
            ["JWT_ALGORITHM", "FACTOR_KEY"],
            id="each setting once",
        ),
    ],
)
def test_all_mistakes_are_named_on_a_line_each(values, named):
    with pytest.raises(ConfigurationError) as caught:
        Settings(**values)
    lines = str(caught.value).splitlines()
    assert sorted(line.partition(" must be ")[0] for line in lines) == sorted(named)
    assert list(caught.value.problems) == lines


def test_a_server_names_a_missing_key_with_the_other_mistakes():
    for key in ({}, {"SECRET_KEY": ""}):
        with pytest.raises(ConfigurationError) as caught:
            AuthMiddleware(print, {"BCRYPT_ROUNDS": "tea", **key})
        assert [each.partition(" must ")[0] for each in caught.value.problems] == [
            "SECRET_KEY",
            "BCRYPT_ROUNDS",
        ]


def test_a_server_with_a_key_names_the_other_mistakes():
    with pytest.raises(ConfigurationError, match=r"^BCRYPT_ROUNDS must .*") as caught:
        AuthMiddleware(print, {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "tea"})
    assert len(caught.value.problems) == 1


def test_a_folder_may_be_given_as_a_path(tmp_path):
    assert str(tmp_path) == Settings(TEMPLATES=tmp_path).TEMPLATES


WRONG = {
    "JWT_ALGORITHM": ["none", "hs256", "HS256 ", "RS256", "ES256", "", None, 256, ["HS256"]],
    "JWT_EXPIRY_MINUTES": [0, -1, 5_256_001, 60.0, float("nan"), True, "60", None],
    "BCRYPT_ROUNDS": [3, 32, -12, 12.0, True, "12", None],
    "PASSWORD_MIN_LENGTH": [7, 73, -8, 8.0, True, "8", None],
    "PASSWORD_WORDS": ["Acme", {"Acme"}, None, 7, ("",), (b"Acme",), (None,), ("a" * 255,)],
    "BREACHED_PASSWORDS": [
        "",
        7,
        b".",
        ".",
        "no such file",
        __file__,
        "nul\0",
        "\ud800",
        "x" * 5000,
    ],
    "DATABASE_URL": ["", "accounts.db", None, 5, b"sqlite:///accounts.db"],
    "REGISTRATION": [1, 0, "on", "off", None, []],
    "MAIL_URL": ["", 7, b"console:", ["console:"]],
    "MAIL_FROM": ["", 7, b"a@example.org", ["a@example.org"]],
    "PUBLIC_URL": ["", 7, b"https://example.org", ["https://example.org"]],
    "LINK_MINUTES": [4, 1441, 60.0, True, "60", None],
    "MAILS_PER_ACCOUNT": [-1, 1001, 3.0, True, "3", None],
    "MAILS_PER_ADDRESS": [-1, 1_000_001, 20.0, True, "20", None],
    "COOKIE_NAME": [
        *("", "a b", "a=b", "a;b", "a,b", 'a"b', "a\n", "a\t", "a:b", "a/b", "(a)", "[a]", "{a}"),
        *("a@b", "<a>", "a?", "a\\b", "\x7f", "\xe4", "x" * 65, None, 7, True, b"a", ["a"]),
        *("__Host-a", "__host-a", "__SECURE-a", "__Http-a", "__Host-Http-a"),
    ],
    "COOKIE_DOMAIN": ["", 7, b"example.org", ["example.org"]],
    "NEXT_HOSTS": ["example.org", None, (None,), (b"example.org",)],
    "COOKIE_SECURE": ["off", "ON", "", True, False, None, ["on"]],
    "JWT_ISSUER": ["", 7, b"https://example.org", ["https://example.org"]],
    "JWT_AUDIENCE": ["", 7, b"https://example.org", ["https://example.org"]],
    "SITE_NAME": ["", 7, b"Ada & Sons", ["Ada & Sons"]],
    "SITE_LOGO": ["", 7, b"/logo.svg", ["/logo.svg"], "/" + "a" * 9000],
    "SITE_LOGO_DARK": ["", 7, b"/logo.svg", ["/logo.svg"], "logo.svg", "//a.example/logo.svg"],
    "SITE_LOGO_EMAIL": ["", 7, b"/logo.png", ["/logo.png"], "http://a.example/logo.png"],
    "SITE_COLOR": ["", 7, b"#0b6868", "teal", "#abc", "0b6868", "#0b6868;}", "#0b6868\n"],
    "SUPPORT_URL": ["", 7, b"https://a.example", ["https://a.example"]],
    "TERMS_URL": ["", 7, b"/terms", ["/terms"]],
    "PRIVACY_URL": ["", 7, b"/privacy", ["/privacy"]],
    "PAGE_SOURCES": ["https://a.example", ["*"], None, (None,), (b"https://a.example",)],
    "TEMPLATES": ["", 7, b".", "no such folder", __file__, "nul\0", "\ud800", "too long" * 99],
    "TRUSTED_ORIGINS": ["https://a.example", ["a.example"], None, (None,), (b"a",)],
    "SECRET_KEY": [LONG_KEY.encode(), 7, True, ["x"] * 64],
    "SECRET_KEY_FALLBACKS": [
        *(LONG_KEY, {LONG_KEY}, iter([LONG_KEY]), None, 7, {LONG_KEY: LONG_KEY}),
        *((LONG_KEY.encode(),), (None,), (7,), (LONG_KEY, ""), ((LONG_KEY,),), ([LONG_KEY],)),
    ],
}


def test_a_value_of_another_type_or_out_of_range_is_refused_by_the_settings_name():
    assert {name: accepted(name, values) for name, values in WRONG.items()} == {
        name: [] for name in WRONG
    }


def test_a_file_of_breached_passwords_is_kept(tmp_path):
    file = tmp_path / "pwned-passwords.txt"
    file.write_text(f"{'0' * 40}:1\n")
    for given in (file, str(file)):
        settings = Settings(BREACHED_PASSWORDS=given)
        assert str(file) == settings.BREACHED_PASSWORDS


def test_words_may_be_a_list():
    assert Settings(PASSWORD_WORDS=["Acme"]).PASSWORD_WORDS == ("Acme",)


def test_what_is_wrong_with_a_file_of_breached_passwords_is_said(tmp_path):
    file = tmp_path / "pwned-passwords.txt"
    file.write_text(f"{'F' * 40}:1\n{'0' * 40}:1\n")
    error = refused("BREACHED_PASSWORDS", file)
    assert f"'{file}' is not sorted by the hash" in str(error)


def test_a_string_of_the_environment_is_refused_in_code_with_what_to_write():
    verification, rounds = refused("VERIFICATION", "on"), refused("BCRYPT_ROUNDS", "12")
    assert str(verification).endswith("; in code, write True, not 'on'.")
    assert str(rounds).endswith("; in code, write 12, not '12'.")


def test_there_is_no_such_hint_for_other_values():
    assert (
        str(refused("BCRYPT_ROUNDS", "3")) == "BCRYPT_ROUNDS must be a whole number from 4 to 31."
    )


def test_a_configuration_error_is_a_value_error_of_ours():
    error = refused("BCRYPT_ROUNDS", 3)
    assert isinstance(error, ValueError)
    assert isinstance(error, WsgiAuthError)


def test_settings_are_frozen():
    settings = Settings(SECRET_KEY=SECRET_KEY)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.BCRYPT_ROUNDS = 4


def test_a_name_that_is_no_setting_is_refused_as_a_keyword():
    with pytest.raises(TypeError, match="SECRETKEY"):
        Settings(SECRETKEY=SECRET_KEY)


def test_the_representation_shows_neither_the_key_nor_the_databases_password():
    settings = Settings(
        SECRET_KEY=SECRET_KEY, SECRET_KEY_FALLBACKS=(LONG_KEY,), DATABASE_URL=PASSWORD_IN_URL
    )
    shown = repr(settings) + str(settings)
    assert SECRET_KEY not in shown
    assert "hunter2canary" not in shown


def test_an_error_elsewhere_shows_neither_of_them():
    secrets = {
        "SECRET_KEY": LONG_KEY,
        "SECRET_KEY_FALLBACKS": (SECRET_KEY,),
        "DATABASE_URL": PASSWORD_IN_URL,
    }
    for wrong in (
        {"JWT_ALGORITHM": "HS1"},
        {"BCRYPT_ROUNDS": 3},
        {"TEMPLATES": "does not exist or is not a folder"},
        {"TRUSTED_ORIGINS": ("null",)},
    ):
        with pytest.raises(ConfigurationError) as caught:
            Settings(**secrets, **wrong)
        shown = "".join(traceback.format_exception(caught.value))
        assert SECRET_KEY not in shown  # nor the other one, which begins with it
        assert "hunter2canary" not in shown


def test_a_database_url_that_is_none_is_not_printed():
    assert "hunter2canary" not in str(refused("DATABASE_URL", "hunter2canary"))


TEXTS = [
    ("SECRET_KEY", SECRET_KEY, SECRET_KEY),
    ("JWT_EXPIRY_MINUTES", "15", 15),
    ("BCRYPT_ROUNDS", " 10 ", 10),
    ("PASSWORD_MIN_LENGTH", "012", 12),
    *(("REGISTRATION", word, True) for word in ("on", "true", "YES", "1", " On ")),
    *(("REGISTRATION", word, False) for word in ("off", "False", "no", "0")),
    ("COOKIE_SECURE", "on", "on"),
    ("COOKIE_SECURE", "Yes", "on"),
    ("COOKIE_SECURE", "AUTO", "auto"),
    ("BASIC_AUTH", "Keys", "keys"),
    ("BASIC_AUTH", "No", "off"),
    ("TRUSTED_ORIGINS", "https://a.example", ("https://a.example",)),
    ("TRUSTED_ORIGINS", "https://a.example,\n http://b:8", ("https://a.example", "http://b:8")),
    ("TRUSTED_ORIGINS", " , ", ()),
    ("PAGE_SOURCES", "https://a.example https://b", ("https://a.example", "https://b")),
    ("PASSWORD_WORDS", "Acme, widgets\nacmewidgets", ("Acme", "widgets", "acmewidgets")),
    ("PASSWORD_WORDS", " ", ()),
    ("SECRET_KEY_FALLBACKS", SECRET_KEY, (SECRET_KEY,)),
    ("SECRET_KEY_FALLBACKS", f" {SECRET_KEY}\n\t{LONG_KEY} ", (SECRET_KEY, LONG_KEY)),
    ("SECRET_KEY_FALLBACKS", " \n", ()),
    ("DATABASE_URL", PASSWORD_IN_URL, PASSWORD_IN_URL),
]


def test_text_is_read_as_the_type_of_its_setting(monkeypatch):
    for name, text, value in TEXTS:
        monkeypatch.setenv(name, text)
        assert (name, getattr(Settings.from_environ(), name)) == (name, value)
        assert getattr(Settings.from_mapping({name: text}), name) == value
        monkeypatch.delenv(name)


UNREADABLE = [
    *(
        ("JWT_EXPIRY_MINUTES", text)
        for text in ("an hour", "1h", "60.0", "1e2", "0x3c", "1_000", "-1", "+60", "٦٠", "0")
    ),
    ("JWT_EXPIRY_MINUTES", "9" * 5000),
    ("BCRYPT_ROUNDS", "3"),
    ("PASSWORD_MIN_LENGTH", " "),
    ("REGISTRATION", "maybe"),
    ("REGISTRATION", " "),
    ("COOKIE_SECURE", "off"),
    ("BASIC_AUTH", "on"),
    ("TRUSTED_ORIGINS", "*"),
    ("SECRET_KEY_FALLBACKS", f"{SECRET_KEY} short"),
    ("SECRET_KEY_FALLBACKS", f"{SECRET_KEY} -----BEGIN PUBLIC KEY----- {SECRET_KEY}"),
]


def test_text_that_cannot_be_read_is_refused_by_the_settings_name():
    for name, text in UNREADABLE:
        with pytest.raises(ConfigurationError, match=f"^{name} must be "):
            Settings.from_mapping({name: text})


VALUES = [
    ("BCRYPT_ROUNDS", 10, 10),
    ("REGISTRATION", False, False),
    ("TRUSTED_ORIGINS", ["https://a.example"], ("https://a.example",)),
    ("TRUSTED_ORIGINS", ("https://a.example",), ("https://a.example",)),
    ("SECRET_KEY", None, None),
    ("SECRET_KEY_FALLBACKS", [SECRET_KEY, LONG_KEY], (SECRET_KEY, LONG_KEY)),
    ("SECRET_KEY_FALLBACKS", (SECRET_KEY,), (SECRET_KEY,)),
    ("SECRET_KEY_FALLBACKS", [], ()),
]


def test_a_mapping_may_hold_values_of_the_right_type():
    for name, value, expected in VALUES:
        assert getattr(Settings.from_mapping({name: value}), name) == expected


def test_a_mapping_may_not_hold_values_of_another_type():
    wrong = {"BCRYPT_ROUNDS": 10.0, "REGISTRATION": 1, "TRUSTED_ORIGINS": {"a"}}
    for name, value in wrong.items():
        with pytest.raises(ConfigurationError, match=f"^{name} must be "):
            Settings.from_mapping({name: value})


def test_an_empty_text_in_the_environment_is_not_set(monkeypatch):
    for field in dataclasses.fields(Settings):
        monkeypatch.setenv(field.name, "")
    assert Settings.from_environ() == Settings()


def test_a_mapping_may_hold_what_is_no_setting():
    assert Settings.from_mapping({"PATH": "/bin", "secret_key": "x", "HOME": 7}) == Settings()
