"""PasteDeploy's filter, and the ini file that it is for."""

import pytest
from paste.deploy import loadapp
from webtest import TestApp

from tests.support.sites import BROWSER, SECRET_KEY, echo
from wsgiauth import login_required
from wsgiauth.accounts import known_permissions
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.paste import filter_app_factory


def test_the_options_of_the_section_are_the_settings(database_url):
    site = filter_app_factory(
        echo, {}, SECRET_KEY=SECRET_KEY, DATABASE_URL=database_url, REGISTRATION="off", mount="/me"
    )
    TestApp(site).get("/me/login", status=200)
    TestApp(site).get("/me/register", status=404)
    TestApp(site).get("/auth/login", status=200).mustcontain("path_info")


def test_a_wrong_option_is_named():
    with pytest.raises(ConfigurationError, match="JWT_ALGORITHM"):
        filter_app_factory(echo, {}, SECRET_KEY=SECRET_KEY, JWT_ALGORITHM="none")


def test_an_option_that_is_none_is_refused_by_name():
    for option in ("registration", "REGISTRATON", "use_"):
        with pytest.raises(
            ConfigurationError, match=f"^{option}: wsgiauth has no setting with this name"
        ):
            filter_app_factory(echo, {}, SECRET_KEY=SECRET_KEY, **{option: "off"})


def test_an_option_can_be_a_setting_of_a_feature():
    options = {"FEATURES": "tests.support.badges.feature:FEATURE", "BADGES_COLOURS": "7"}
    database = "sqlite:///:memory:"
    site = filter_app_factory(echo, {}, SECRET_KEY=SECRET_KEY, DATABASE_URL=database, **options)
    assert site.site.settings.BADGES_COLOURS == 7


CHALLENGE = [
    *((word, 302) for word in ("on", "true", " Yes ", "1", "anonymous")),
    *((word, 401) for word in ("off", "False", "no", "0")),
    (None, 401),
]


def test_the_section_says_whether_a_401_becomes_the_challenge(database_url):
    for word, status in CHALLENGE:
        options = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": database_url}
        if word is not None:
            options["challenge"] = word
        site = filter_app_factory(login_required(echo), {}, **options)
        answer = TestApp(site).get("/", headers=BROWSER, status="*")
        assert (word, answer.status_int) == (word, status)


@pytest.mark.parametrize("word", ["maybe", "onn", "2"])
def test_a_challenge_that_is_neither_on_nor_off_is_refused_by_name(tmp_path, word):
    database = tmp_path / "accounts.db"
    options = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": f"sqlite:///{database}"}
    with pytest.raises(ConfigurationError, match=r"^challenge must be on, off or anonymous\.$"):
        filter_app_factory(echo, {}, **options, challenge=word)
    assert not database.exists()


PUBLIC = [
    ({}, [200, 200, 200]),
    ({"public": ""}, [401, 401, 401]),
    ({"public": "/\n  /pub/"}, [200, 200, 401]),
    ({"public": "/", "require": "site.enter"}, [200, 401, 401]),
    ({"require": "site.enter"}, [401, 401, 401]),
    ({"require": "/pub/=site.enter\n /priv=a.read,b.read"}, [200, 401, 401]),
    ({"require": "/ /pub/", "public": "/pub/open"}, [401, 200, 401]),
]


def test_the_section_says_what_is_public(database_url):
    for options, statuses in PUBLIC:
        settings = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": database_url}
        client = TestApp(filter_app_factory(echo, {}, **settings, **options))
        answers = [client.get(path, status="*") for path in ("/", "/pub/open", "/priv")]
        assert (options, [each.status_int for each in answers]) == (options, statuses)


def test_the_section_declares_permissions(database_url):
    options = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": database_url}
    filter_app_factory(echo, {}, **options, permissions="section.read\n  section.write")
    assert {"section.read", "section.write"} <= known_permissions.asked_for()


def test_a_wrong_path_in_the_section_is_named():
    with pytest.raises(ConfigurationError, match=r"^public: .* not 'b'"):
        filter_app_factory(echo, {}, SECRET_KEY=SECRET_KEY, public="/a b")


def test_an_ini_file_may_ask_for_the_challenge(monkeypatch, tmp_path, database_url):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    site_ini = tmp_path / "site.ini"
    site_ini.write_text(
        f"""
        [pipeline:main]
        pipeline = auth hello

        [filter:auth]
        use = egg:wsgi-accounts
        DATABASE_URL = {database_url}
        challenge = on

        [app:hello]
        paste.app_factory = tests.test_paste:make_app
        """.replace("        ", "")
    )
    answer = TestApp(loadapp(f"config:{site_ini}")).get("/", headers=BROWSER, status=302)
    assert answer.headers["Location"] == "/auth/login?next=%2F"


def make_app(global_config):
    return login_required(echo)
