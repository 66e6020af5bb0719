"""Users, their permissions, and what saving a user does."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import peewee
import pytest
from playhouse.shortcuts import model_to_dict

from tests.support.logins import find_session, insert_session, valid_session_ids
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import events, hash_password, storage
from wsgiauth.accounts import find_user, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Permission, Session
from wsgiauth.authentication import sessions
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.features.factors import passkeys, totp
from wsgiauth.storage.models import utc_now

CHANGES = pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda user, field, value: save(user, **{field: value}), id="saved"),
        pytest.param(
            lambda user, field, value: (
                User.update({field: value}).where(User.id == user.id).execute()
            ),
            id="by a query",
        ),
        pytest.param(
            lambda user, field, value: User.set_by_id(user.id, {getattr(User, field): value}),
            id="by a query with the column",
        ),
    ],
)

HASH = hash_password(PASSWORD, rounds=4)
ANOTHER_HASH = hash_password("four other words", rounds=4)


@pytest.fixture
def ada(database):
    return create()


@pytest.fixture
def grace(database):
    return create("Grace", "grace@example.org")


@pytest.fixture
def heard(database):
    """Return the events of the database, as name and reason."""
    received = []
    events.subscribe(database, [lambda event: received.append((event.name, event.reason))])
    yield received
    events.subscribe(database, [])


def test_no_other_table_adds_a_public_attribute():
    assert totp.Totp.user.rel_model is passkeys.Passkey.user.rel_model is User
    for case, (model, names) in {
        "User": (
            User,
            "created_at email email_verified_at email_verified_by grant groups"
            " has_password has_permission hashed_password id language"
            " is_active is_limited is_staff is_superuser join label last_login_at leave objects"
            " permissions revoke sessions username DoesNotExist"
            " email_key username_key security_stamp locks database find_by_id",
        ),
        "Group": (
            Group,
            "grant id members name objects permissions revoke DoesNotExist name_key database"
            " find_by_id",
        ),
    }.items():
        of_applications = {
            field.backref or f"{table._meta.name}_set"
            for field, table in model._meta.backrefs.items()
            if not table.__module__.startswith("wsgiauth.")
        }
        own = set(dir(model)) - set(dir(peewee.Model)) - of_applications
        assert {name for name in own if not name.startswith("_")} == set(names.split()), case


def create(username=USERNAME, email=EMAIL, hashed_password=HASH, **flags):
    return User.objects.create(
        username=username, email=email, hashed_password=hashed_password, **flags
    )


def save(user, **changes):
    for field, value in changes.items():
        setattr(user, field, value)
    user.save()


def read(user):
    """Return another copy of a user."""
    return User.objects.get(id=user.id)


# User.objects


def test_a_new_user_is_active_and_without_rights(ada):
    assert (ada.is_active, ada.is_staff, ada.is_superuser) == (True, False, False)


def test_flags_can_be_given_to_a_new_user(database):
    flags = ("is_active", "is_staff", "is_superuser")
    for chosen in flags:
        values = {flag: flag == chosen for flag in flags}
        user = read(create(chosen, f"{chosen}@example.org", **values))
        assert {flag: getattr(user, flag) for flag in flags} == values


@pytest.mark.promise(11)
def test_no_other_column_can_be_given_to_a_new_user():
    for column in ("id", "username_key", "email_key", "created_at", "tea"):
        with pytest.raises(TypeError, match=column):
            create(**{column: 1})


@pytest.mark.every_database
@pytest.mark.promise(51)
def test_what_is_stored_already_is_no_change(ada, heard):
    ada.email_verified_at = utc_now()
    ada.save()
    heard.clear()
    before = model_to_dict(read(ada), exclude=[User.locks])
    for changes in (
        {"is_active": True},
        {"is_staff": False, "is_superuser": False},
        {"username": USERNAME},
        {"email": EMAIL},
    ):
        stale = read(ada)
        assert not update_user(stale, **changes)
        save(stale, **changes)
        assert model_to_dict(read(ada), exclude=[User.locks]) == before, changes
        assert heard == []


@pytest.mark.every_database
@pytest.mark.promise(51)
def test_of_several_changes_only_those_that_change_anything_are_reported(ada, heard):
    assert update_user(ada, username="Countess", email=EMAIL, is_active=True, is_staff=True)
    assert heard == [("names_changed", "username"), ("rights_changed", "is_staff on")]


@pytest.mark.every_database
def test_a_flag_that_another_copy_has_changed_is_written(ada):
    copy = read(ada)
    save(ada, is_staff=True)
    save(copy, is_staff=False)
    assert not read(ada).is_staff


@pytest.mark.every_database
def test_a_user_who_was_deleted_is_not_written(ada):
    copy = read(ada)
    ada.delete_instance()
    copy.is_staff = True
    assert not copy.save()


@pytest.mark.every_database
def test_what_is_read_is_what_was_written(ada):
    assert model_to_dict(read(ada)) == model_to_dict(ada)


@pytest.mark.every_database
def test_the_moment_of_creation_is_in_utc_and_whole_seconds(ada):
    assert ada.created_at.tzinfo is UTC
    assert ada.created_at.microsecond == 0
    assert read(ada).created_at.tzinfo is UTC


@pytest.mark.every_database
def test_get_returns_the_user_that_matches(ada, grace):
    assert User.objects.get(username="Grace") == grace
    assert User.objects.get(User.id == ada.id, is_active=True) == ada


def test_get_raises_when_nobody_matches(ada):
    with pytest.raises(User.DoesNotExist):
        User.objects.get(username="Nobody")


@pytest.mark.every_database
def test_get_or_none_returns_none_when_nobody_matches(ada):
    assert User.objects.get_or_none(username="Nobody") is None
    assert User.objects.get_or_none(User.email == EMAIL) == ada


@pytest.mark.every_database
def test_filter_returns_all_who_match(ada, grace):
    grace.is_staff = True
    grace.save()
    assert list(User.objects.filter(is_staff=True)) == [grace]
    assert list(User.objects.filter(User.id < grace.id, is_active=True)) == [ada]


@pytest.mark.every_database
def test_all_returns_the_oldest_account_first(ada, grace):
    ada.is_staff = True
    ada.save()
    assert list(User.objects.all()) == [ada, grace]


@pytest.mark.every_database
def test_count_counts(ada, grace):
    assert User.objects.count() == 2


def test_a_user_as_a_string_is_the_username(ada):
    assert (str(ada), f"{ada}", "%s" % ada) == ("Ada", "Ada", "Ada")  # noqa: UP031 - as logging does


def test_the_hash_is_not_in_the_repr(ada):
    assert repr(ada) == f"<User {ada.id} 'Ada'>"


# Names


@pytest.mark.promise(10)
def test_a_name_against_the_rules_is_not_saved(database):
    usernames = ("", "x" * 151, "ﬃ" * 51, "ada@home", "-h", "\uff0dh", "ada lovelace", "ada\0")
    addresses = ("", "ada", f"{'x' * 243}@example.org", "ada@example.org\r\nBcc: x")
    for field, names in {"username": usernames, "email": addresses}.items():
        for name in names:
            with pytest.raises(ValidationError) as refused:
                create(**{field: name})
            assert list(refused.value.errors) == [field], name
    assert User.select().count() == 0


@pytest.mark.promise(10)
def test_the_rules_hold_for_a_change_of_name(ada):
    ada.username = "ada lovelace"
    with pytest.raises(ValidationError):
        ada.save()
    assert read(ada).username == USERNAME


@pytest.mark.promise(10)
def test_the_messages_for_both_names_come_together(database):
    with pytest.raises(ValidationError) as refused:
        create("", "")
    assert list(refused.value.errors) == ["username", "email"]


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_a_name_is_shown_as_it_was_written(database):
    for username, email in (
        ("\U0001d49c" * 150, EMAIL),  # characters of four bytes
        (USERNAME, f"{'é' * 242}@example.org"),
        ("Straße-ﬁ_\uff21.日本", "Ünï@bücher.example"),
        ("';DROP/**/TABLE--%_\\\"", "sql@example.org"),
        ("👩\U0001f680", "emoji@example.org"),
    ):
        user = read(create(username, email))
        assert (user.username, user.email) == (username, email)


@pytest.mark.every_database
def test_a_name_that_was_taken_since_the_transaction_began_is_taken(database):
    opened = storage.current()

    def create_elsewhere():
        storage.context.use(opened)
        create()
        storage.discard_connection(opened)

    with database.atomic():
        assert User.select().count() == 0  # MariaDB shows nothing newer from now on
        if storage.database.for_update:
            with ThreadPoolExecutor(1) as thread:
                thread.submit(create_elsewhere).result()
        else:  # SQLite has one writer
            create()
        with pytest.raises(TakenError) as caught:
            create("Another")
    assert caught.value.errors == {"email": ["This email address is taken."]}


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_a_username_is_taken_in_all_its_spellings(database):
    for taken, wanted in {
        "Ada": "\uff21dA",
        "ﬁn": "FIN",
        "straße": "STRASSE",
        "ΣΊΣΥΦΟΣ": "σίσυφος",
        "e\u0301va": "Éva",
    }.items():
        create(taken)
        with pytest.raises(TakenError) as refused:
            create(wanted, "other@example.org")
        assert list(refused.value.errors) == ["username"]
        assert User.delete().execute() == 1


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_an_international_domain_is_taken_in_both_spellings(database):
    for taken, wanted in {
        "ada@bücher.example": "ada@xn--bcher-kva.example",
        "ada@xn--bcher-kva.example": "Ada@Bücher.example",
    }.items():
        create(email=taken)
        with pytest.raises(TakenError) as refused:
            create(username="Grace", email=wanted)
        assert list(refused.value.errors) == ["email"]
        assert find_user(wanted) == User.get()
        assert User.get().email == taken
        User.delete().execute()


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_an_email_is_taken_in_all_its_spellings(ada):
    with pytest.raises(TakenError) as refused:
        create(username="Grace", email="\uff21DA@Example.ORG")
    assert list(refused.value.errors) == ["email"]
    assert User.objects.count() == 1


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("username", "email"),
    [
        pytest.param("aDA", "nowhere", id="username is taken"),
        pytest.param("a da", EMAIL, id="email is taken"),
    ],
)
def test_a_malformed_name_does_not_hide_that_the_other_is_taken(ada, grace, username, email):
    with pytest.raises(ValidationError) as refused:
        create(username, email)
    assert refused.value.errors.keys() == {"username", "email"}
    assert type(refused.value) is ValidationError
    grace.username, grace.email = username, email
    with pytest.raises(ValidationError) as refused:
        grace.save()
    assert refused.value.errors.keys() == {"username", "email"}


@pytest.mark.promise(10)
def test_ones_own_name_is_not_taken_beside_a_malformed_one(ada):
    ada.username, ada.email = "ADA", "nowhere"
    with pytest.raises(ValidationError) as refused:
        ada.save()
    assert list(refused.value.errors) == ["email"]


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_both_names_can_be_taken_at_once(ada):
    with pytest.raises(TakenError) as refused:
        create("ADA", "ADA@example.org")
    assert list(refused.value.errors) == ["username", "email"]


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_a_name_that_only_looks_alike_is_another_name(ada):
    for number, other in enumerate(("Adá", "\u0410da", "Ada.", "Ad")):  # one is Cyrillic
        assert create(other, f"{number}@example.org") != ada
        assert User.objects.get(username=other).username == other


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_the_keys_are_not_longer_than_their_columns(database):
    user = create("ﬃ" * 50, f"{'ﬃ' * 80}@example.org")
    assert (len(user.username_key), len(user.email_key)) == (150, 252)
    assert read(user).email_key == user.email_key


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_ones_own_name_can_be_spelled_anew(ada):
    ada.username, ada.email = "ADA", "ADA@example.org"
    ada.save()
    assert (read(ada).username, read(ada).email) == ("ADA", "ADA@example.org")


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_nobody_can_be_renamed_to_somebody_else(ada, grace):
    grace.username = "ada"
    with pytest.raises(TakenError):
        grace.save()
    assert read(grace).username == "Grace"


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_a_name_given_up_is_free(ada):
    ada.username = "Countess"
    ada.save()
    create("ada", "other@example.org")
    assert User.objects.count() == 2


# Saving


@pytest.mark.every_database
def test_saving_a_copy_keeps_what_others_changed(ada):
    copy = read(ada)
    ada.is_staff = True
    ada.save()
    copy.email = "countess@example.org"
    copy.save()
    assert (read(ada).is_staff, read(ada).email) == (True, "countess@example.org")


def test_saving_nothing_changes_nothing(ada):
    copy = read(ada)
    ada.email = "countess@example.org"
    ada.save()
    copy.save()
    assert read(ada).email == "countess@example.org"


@pytest.mark.every_database
def test_a_constraint_that_is_not_about_names_is_not_hidden(ada):
    ada.is_staff = None
    with pytest.raises(peewee.IntegrityError):
        ada.save()


def test_what_is_no_hash_is_not_stored_as_one(ada):
    for value in ("canary", None, HASH[:-1], HASH.replace("$04$", "$03$")):
        ada.hashed_password = value
        with pytest.raises(ValueError, match="hash_password") as refused:
            ada.save()
        assert "canary" not in str(refused.value)
        assert read(ada).hashed_password == HASH, value


@pytest.mark.promise(73)
def test_an_account_can_have_no_password(ada):
    ada.hashed_password = ""
    ada.save()
    assert not read(ada).has_password


def test_a_password_is_not_stored_by_a_query_either(ada):
    with pytest.raises(ValueError, match="hash_password"):
        User.update(hashed_password="canary").execute()


@pytest.mark.every_database
def test_hashes_of_other_bcrypt_tools_are_stored(ada):
    for version in ("$2a$", "$2y$"):
        imported = HASH.replace("$2b$", version)
        save(ada, hashed_password=imported)
        assert read(ada).hashed_password == imported


@pytest.mark.every_database
@pytest.mark.promise(5)
@CHANGES
def test_a_change_ends_the_sessions_and_keeps_those_of_others(ada, grace, change):
    insert_session(grace, "another's")
    for number, (field, value) in enumerate(
        [("hashed_password", ANOTHER_HASH), ("hashed_password", ANOTHER_HASH), ("is_active", False)]
    ):
        insert_session(read(ada), f"hers {number}")
        change(ada, field, value)
        assert valid_session_ids() == {"another's"}, (number, field)


@CHANGES
def test_any_other_change_ends_no_session(ada, change):
    insert_session(ada, "hers")
    for field, value in {
        "username": "Countess",
        "email": "countess@example.org",
        "is_superuser": True,
        "is_active": True,
    }.items():
        change(ada, field, value)
        assert valid_session_ids() == {"hers"}, field


@pytest.mark.every_database
def test_a_change_that_is_refused_ends_no_session(ada, grace):
    insert_session(ada, "hers")
    ada.is_active, ada.username = False, "grace"
    with pytest.raises(TakenError):
        ada.save()
    assert valid_session_ids() == {"hers"}


@pytest.mark.every_database
@pytest.mark.promise(5)
@CHANGES
def test_a_user_who_is_active_again_has_none_of_the_old_sessions(ada, change):
    insert_session(ada, "hers")
    change(ada, "is_active", False)
    change(ada, "is_active", True)
    assert valid_session_ids() == set()


@pytest.mark.every_database
@pytest.mark.promise(5)
def test_saving_reads_the_new_stamp_and_ends_sessions_of_stale_copies(ada):
    copies = [read(ada), read(ada)]
    for copy in copies:
        copy.hashed_password = ANOTHER_HASH
        copy.save()
    insert_session(copies[0], "between the changes")
    insert_session(copies[1], "after both")
    assert [copy.security_stamp for copy in copies] == [1, 2]
    assert valid_session_ids() == {"after both"}


@pytest.mark.every_database
@pytest.mark.promise(5)
def test_no_object_can_set_the_stamp_back(ada):
    ada.hashed_password = ANOTHER_HASH
    ada.save()
    ada.security_stamp, ada.is_staff = 0, True
    ada.save()
    assert (read(ada).security_stamp, read(ada).is_staff) == (1, True)
    ada.security_stamp, ada.is_staff = 0, False
    ada.save(only=[User.security_stamp, User.is_staff])
    assert (read(ada).security_stamp, read(ada).is_staff) == (1, False)


@pytest.mark.every_database
@pytest.mark.promise(5)
def test_objects_saved_in_bulk_end_their_sessions(ada, grace):
    insert_session(ada, "hers")
    insert_session(grace, "another's")
    ada.hashed_password = ANOTHER_HASH
    User.bulk_update([ada], [User.hashed_password])
    assert valid_session_ids() == {"another's"}


@pytest.mark.every_database
@pytest.mark.promise(8)
def test_an_update_that_keeps_the_stamp_ends_no_session(ada):
    insert_session(ada, "hers")
    User.update(hashed_password=ANOTHER_HASH, security_stamp=User.security_stamp).execute()
    assert valid_session_ids() == {"hers"}


@pytest.mark.every_database
@pytest.mark.promise(5)
def test_deleting_a_user_deletes_what_belongs_to_them(ada):
    insert_session(ada, "hers")
    ada.grant("reports.publish")
    ada.delete_instance()
    assert (Session.select().count(), Permission.select().count()) == (0, 0)


# Permissions


def test_a_permission_is_had_when_it_is_granted(ada):
    assert not ada.has_permission("reports.publish")
    ada.grant("reports.publish")
    assert ada.has_permission("reports.publish")


def test_several_permissions_are_granted_at_once(ada):
    ada.grant("reports.publish", "reports.archive")
    assert read(ada).permissions == {"reports.publish", "reports.archive"}


@pytest.mark.every_database
def test_a_permission_granted_twice_is_had_once(ada):
    ada.grant("reports.publish", "reports.publish")
    ada.grant("reports.publish")
    assert [permission.name for permission in Permission.select()] == ["reports.publish"]


def test_a_permission_is_one_users_alone(ada, grace):
    ada.grant("reports.publish")
    assert not grace.has_permission("reports.publish")


@pytest.mark.every_database
def test_a_permission_that_differs_in_case_is_another(ada):
    ada.grant("reports.publish")
    assert not ada.has_permission("reports.Publish")


@pytest.mark.every_database
def test_a_permission_is_gone_when_it_is_revoked(ada, grace):
    for user in (ada, grace):
        user.grant("reports.publish", "reports.archive")
    copy = read(ada)
    ada.revoke("reports.publish", "reports.read")
    assert copy.permissions == {"reports.archive"}
    assert grace.permissions == {"reports.publish", "reports.archive"}


def test_no_permission_is_granted_or_revoked_by_naming_none(ada):
    ada.grant("reports.publish")
    ada.grant()
    ada.revoke()
    assert ada.permissions == {"reports.publish"}


def test_a_superuser_has_every_permission_without_its_being_listed(database):
    root = create(is_superuser=True)
    assert root.has_permission("reports.publish")
    assert root.permissions == frozenset()


def test_an_inactive_user_has_no_permission(database):
    user = create(is_active=False, is_superuser=True)
    user.grant("reports.publish")
    assert not user.has_permission("reports.publish")


@pytest.mark.every_database
def test_a_user_who_was_deleted_is_granted_nothing(ada):
    ada.delete_instance()
    with pytest.raises(User.DoesNotExist):
        ada.grant("reports.publish")


def test_a_user_who_was_never_saved_is_granted_nothing(database):
    with pytest.raises(User.DoesNotExist):
        User(username=USERNAME, email=EMAIL).grant("reports.publish")


def test_a_permission_of_another_form_is_refused():
    root = User(id=1, is_superuser=True)
    for act in (root.grant, root.revoke, root.has_permission):
        for permission in ("", "reports", "reports.*", None, ["a.b"]):
            with pytest.raises(ValueError, match=r"<app>\.<action>"):
                act(permission)


@pytest.mark.every_database
def test_a_permission_may_have_100_characters(ada):
    longest = f"a.{'b' * 98}"
    ada.grant(longest)
    assert ada.has_permission(longest)


@pytest.mark.every_database
def test_permissions_are_changed_all_or_none(ada):
    ada.grant("reports.read")
    for act in (ada.grant, ada.revoke):
        with pytest.raises(ValueError, match="nonsense"):
            act("reports.read", "reports.publish", "nonsense")
        assert ada.permissions == {"reports.read"}


@pytest.mark.every_database
def test_a_deleted_users_id_is_not_given_again(ada):
    ada.delete_instance()
    assert create().id != ada.id


def test_a_user_can_be_pickled(ada):
    assert pickle.loads(pickle.dumps(ada)).username == USERNAME  # noqa: S301 - our own


def test_a_name_that_is_saved_alone_takes_its_key_along(ada):
    ada.username, ada.email = "Grace", "not an address"
    ada.save(only=[User.username])
    stored = read(ada)
    assert (stored.username, stored.username_key, stored.email) == ("Grace", "grace", EMAIL)


@pytest.mark.every_database
@pytest.mark.promise(5)
def test_saving_all_fields_of_a_stale_object_revives_no_login(database, ada, tokens):
    stale = User.get_by_id(ada.id)
    login = sessions.start(stale, tokens)
    for is_active in (False, True):
        update_user(User.get_by_id(ada.id), is_active=is_active)
    stale.email = "new@example.org"
    stale.save(only=User._meta.sorted_fields)
    assert User.get_by_id(ada.id).email == "new@example.org"
    assert find_session(login.token, tokens) is None


@pytest.mark.every_database
@pytest.mark.promise(5)
def test_saving_the_stamp_beside_a_new_password_ends_logins_all_the_same(ada, tokens):
    user = User.get_by_id(ada.id)
    login = sessions.start(user, tokens)
    user.hashed_password = hash_password("another unrelated phrase", rounds=4)
    user.save(only=[User.hashed_password, User.security_stamp])
    assert find_session(login.token, tokens) is None


def test_saving_only_fields_that_have_not_changed_writes_nothing(ada, queries):
    unchanged = User.get_by_id(ada.id)
    assert queries(lambda: unchanged.save(only=[User.email])) == []


def test_a_stamp_cannot_be_set(ada):
    with pytest.raises(ValueError, match="security_stamp"):
        User.update(security_stamp=0)


# The proof of the address


@pytest.mark.every_database
@pytest.mark.parametrize("is_bulk", [False, True], ids=["save", "update"])
def test_another_address_is_not_verified(ada, is_bulk):
    ada.email_verified_at, ada.email_verified_by = utc_now(), "link"
    ada.save()
    assert User.get_by_id(ada.id).email_verified_at == ada.email_verified_at
    if is_bulk:
        User.update(email="b@example.org", email_key="b@example.org").execute()
    else:
        ada.email = "b@example.org"
        ada.save()
        assert (ada.email_verified_at, ada.email_verified_by) == (None, "")
    stored = User.get_by_id(ada.id)
    assert (stored.email_verified_at, stored.email_verified_by) == (None, "")


@pytest.mark.every_database
@pytest.mark.parametrize("is_bulk", [False, True], ids=["save", "update"])
def test_what_proved_an_address_does_not_prove_it_anew(ada, is_bulk):
    ada.email_verified_at, ada.email_verified_by = utc_now(), "link"
    ada.save()
    assert User.get_by_id(ada.id).email_verified_by == "link"
    if is_bulk:
        User.update(email_verified_at=utc_now()).execute()
    else:
        ada.email_verified_at = utc_now()
        ada.save()
        assert ada.email_verified_by == ""
    assert User.get_by_id(ada.id).email_verified_by == ""


@pytest.mark.every_database
def test_an_address_can_be_changed_together_with_its_proof(ada):
    ada.email, ada.email_verified_at = "b@example.org", utc_now()
    ada.save()
    assert User.get_by_id(ada.id).email_verified_at == ada.email_verified_at


def test_another_name_keeps_the_proof_of_the_address(ada):
    ada.email_verified_at = utc_now()
    ada.save()
    ada.username = "Other"
    ada.save()
    assert User.get_by_id(ada.id).email_verified_at is not None
