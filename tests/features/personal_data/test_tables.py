"""Every table of the schema has an owner, who says what it has about a person.

If a test here fails for a new table, its feature lacks an entry in `Feature.personal_data`.
"""

import peewee
import pytest

from tests.support import features
from tests.support.schema import MODELS
from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import OF_ACCOUNT, PersonalData
from wsgiauth.feature import personal_data_of
from wsgiauth.features.registry import FEATURES

ABOUT_NO_USER = {
    "wsgiauth_event_count": "it says how many events happened, whoever caused them",
    "wsgiauth_group": "its members are in another table",
    "wsgiauth_group_permission": "it says what a group can do, whoever its members are",
    "wsgiauth_migration": "it has names of migrations",
}
for each in features.declared("ABOUT_NO_USER").values():
    ABOUT_NO_USER |= each
AT_THE_TOP = "wsgiauth_user"  # its columns are members of the file itself
NOTHING = PersonalData({})
LISTED = personal_data_of(FEATURES)

# Columns of the user that say nothing about a person.
INTERNAL = {
    "hashed_password",  # a digest; `has_password` is in the file
    "username_key",
    "email_key",
    "security_stamp",
    "locks",
}


def tables():
    return {each for each in storage.current().get_tables() if each.startswith("wsgiauth_")}


@pytest.mark.promise(86)
@pytest.mark.every_database
def test_every_table_of_the_database_is_in_the_file(database):
    advice = "neither `Feature.personal_data` nor `ABOUT_NO_USER` of samples has this table"
    assert not tables() - ABOUT_NO_USER.keys() - {AT_THE_TOP} - LISTED.keys(), advice
    assert LISTED.keys() <= tables() - ABOUT_NO_USER.keys()
    # The tests of the records read the tables of all models.
    assert {each._meta.table_name for each in MODELS} <= tables()


def test_the_names_that_no_list_can_have_are_those_of_the_members_of_the_account(ada, settings):
    of_account = NOTHING.of_account(ada, settings)
    assert (*of_account, "application", "incomplete") == OF_ACCOUNT


@pytest.mark.every_database
def test_a_table_that_is_left_out_refers_to_no_user(database):
    for table in ABOUT_NO_USER:
        assert AT_THE_TOP not in {each.dest_table for each in database.get_foreign_keys(table)}
        names = {each.name for each in database.get_columns(table)}
        assert {each for each in names if "user" in each or "actor" in each} == set()


def test_each_list_has_a_name_of_its_own(ada, settings):
    members = [
        *NOTHING.of_account(ada, settings),
        "application",
        *(each.name for each in LISTED.values()),
    ]
    assert len(members) == len(set(members))


def test_every_column_of_the_user_is_a_member_of_the_file(ada, settings):
    others = {"id": 77, "created_at": ada.created_at.replace(year=1999)}
    for name, field in User._meta.fields.items():
        if name.endswith("_at"):
            others.setdefault(name, ada.created_at)
        elif name not in others:
            is_text = isinstance(field, peewee.CharField)
            others[name] = "xx" if is_text else not getattr(ada, name)
    changed = {name: User(**{**ada.__data__, name: others[name]}) for name in others}
    files = {name: NOTHING.of_account(user, settings) for name, user in changed.items()}
    assert {
        name for name, each in files.items() if each == NOTHING.of_account(ada, settings)
    } <= INTERNAL
