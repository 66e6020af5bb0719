"""What people call a user, with usernames and without: `User.label`, and usernames of wsgiauth."""

import pickle
from dataclasses import replace

import pytest

from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import AuthMiddleware, Settings, create_user, storage
from wsgiauth.accounts import find_user, names, update_user
from wsgiauth.accounts.models import User, label_column
from wsgiauth.exceptions import LastSuperuserError, TakenError, ValidationError
from wsgiauth.storage.models import NO_PASSWORD

MADE = r"u[a-z2-7]{15}"
LIKE_MADE = "uabcdefgh2345672"


def app(environ, start_response):
    """Never called: these tests call the accounts of a site."""
    raise AssertionError


@pytest.fixture
def site(settings):
    """A site without usernames."""
    site = AuthMiddleware(app, replace(settings, USERNAMES=False))
    yield site
    storage.discard_connection(site.database)


def make(site, username=None, email=EMAIL, **fields):
    return create_user(username, email, PASSWORD, settings=site.site.settings, **fields)


@pytest.mark.every_database
def test_without_usernames_a_user_is_known_by_the_address(site):
    user = make(site)
    assert user.label == str(user) == EMAIL
    assert User.objects.get(email=EMAIL).label == EMAIL
    update_user(user, email="lovelace@example.org")
    assert User.objects.get(id=user.id).label == "lovelace@example.org"


def test_with_usernames_a_user_is_known_by_the_username(settings):
    site = AuthMiddleware(app, settings)
    assert make(site, USERNAME).label == str(User.objects.get(username=USERNAME)) == USERNAME


def test_a_user_keeps_the_label_of_its_site_in_another_context(settings, site, tmp_path):
    user = make(site)
    AuthMiddleware(app, replace(settings, DATABASE_URL=f"sqlite:///{tmp_path}/other.db"))
    assert user.label == EMAIL


def test_a_pickled_user_has_the_label_of_the_current_site(site):
    assert pickle.loads(pickle.dumps(make(site))).label == EMAIL  # noqa: S301 - our own


@pytest.mark.every_database
@pytest.mark.promise(101)
def test_a_username_that_is_made_is_random_and_finds_the_user(site):
    users = [make(site, email=f"{number}@example.org") for number in range(20)]
    made = {each.username for each in users}
    assert len(made) == 20
    for user in users:
        assert names.is_made(user.username), user.username
        assert find_user(user.username.upper()) == user


def test_code_can_leave_out_the_username(site):
    fields = {"email": EMAIL, "hashed_password": NO_PASSWORD}
    assert names.is_made(User.objects.create(**fields).username)
    by_keywords = create_user(email="b@example.org", password=PASSWORD, settings=site.site.settings)
    assert names.is_made(by_keywords.username)


def test_with_usernames_code_cannot_leave_out_the_username(settings):
    site = AuthMiddleware(app, settings)
    with pytest.raises(ValidationError, match="Enter a username"):
        make(site)
    with pytest.raises(ValidationError, match="Enter a username"):
        User.objects.create(email=EMAIL, hashed_password=NO_PASSWORD)


def test_a_user_without_an_address_is_refused(site):
    with pytest.raises(ValidationError, match="Enter an email address"):
        create_user(password=PASSWORD, settings=site.site.settings)


def test_an_address_is_taken_once(site):
    make(site)
    with pytest.raises(TakenError, match="This email address is taken"):
        make(site, email=EMAIL.upper())


@pytest.mark.promise(101)
@pytest.mark.parametrize("usernames", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("name", [LIKE_MADE, LIKE_MADE.upper(), "\uff55" + LIKE_MADE[1:]])
def test_a_user_cannot_choose_a_name_like_one_that_is_made(settings, usernames, name):
    """A deleted user may have had it: the application would take the new one for the old."""
    site = AuthMiddleware(app, replace(settings, USERNAMES=usernames))
    with pytest.raises(ValidationError, match="This username is reserved"):
        make(site, name)
    user = make(site, "grace", "grace@example.org")
    with pytest.raises(ValidationError, match="This username is reserved"):
        update_user(user, username=name)
    assert User.objects.get(id=user.id).username == "grace"


@pytest.mark.parametrize("name", [LIKE_MADE[:-1], LIKE_MADE + "a", "v" + LIKE_MADE[1:], "u1" * 8])
def test_other_names_are_free(settings, name):
    assert make(AuthMiddleware(app, settings), name).username == name


def test_messages_about_a_user_have_the_label(site):
    user = make(site, is_superuser=True)
    with pytest.raises(LastSuperuserError, match=f"^{EMAIL} is the last"):
        user.delete_instance()


def test_logs_name_a_user_by_the_username(site):
    """They have no addresses."""
    user = make(site)
    assert repr(user) == f"<User {user.id} {user.username!r}>"


@pytest.mark.parametrize(("value", "column"), [("on", "username"), ("off", "email")])
def test_a_script_reads_the_setting_of_the_environment(monkeypatch, tmp_path, value, column):
    monkeypatch.setattr("wsgiauth.storage._opened_last", None)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/accounts.db")
    monkeypatch.setenv("USERNAMES", value)
    from wsgiauth.storage import context, current, discard_connection

    with context.using(None):
        token = context.enter_request((None, None, None))
        try:
            context.use(None)
            assert current().has_usernames is (value == "on")
            assert label_column().name == column
        finally:
            discard_connection(current())
            context.leave_request(token)


def test_the_setting_is_on_or_off():
    assert Settings.from_mapping({"USERNAMES": "off"}).USERNAMES is False
    assert Settings().USERNAMES is True


def test_a_password_like_the_address_is_refused_in_words_about_the_address(site):
    with pytest.raises(ValidationError, match="too similar to the email address"):
        create_user(email=EMAIL, password=EMAIL, settings=site.site.settings)
