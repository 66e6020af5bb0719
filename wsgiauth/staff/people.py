"""Who did something, on pages for the staff."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from wsgiauth.accounts.models import User, label_column
from wsgiauth.events import actors
from wsgiauth.messages import _

# Actors that are no users.
ACTORS: Mapping[str, str] = {
    actors.CODE: _("application code"),
    actors.COMMAND_LINE: _("command line"),
    actors.APP: _("the app itself"),
}


class Person(NamedTuple):
    """A user in the trail."""

    id: int
    label: str  # empty if the user has been deleted
    key: str = ""  # the id of the API key that was used
    key_name: str = ""  # empty if the key has been deleted


def people_of(acting: Iterable[str | None]) -> list[Person | str | None]:
    """Return actors with the names of users, in words if they are none; costs one query."""
    texts = [each or "" for each in acting]
    ids = [actors.user_id_of(each) for each in texts]
    names = names_of(set(ids))
    return [
        person(user_id, names, actors.key_of(text)) or (text and actor_in_words(text)) or None
        for user_id, text in zip(ids, texts, strict=True)
    ]


def actor_in_words(actor: str) -> str:
    """Return the words for an actor that is not a user; keep an unknown actor."""
    if actor in ACTORS:
        return ACTORS[actor]
    who, name = actors.split(actor)
    return _("command line %(name)s", name=name) if who == actors.COMMAND_LINE else actor


def names_of(user_ids: Iterable[int | None]) -> dict[int, str]:
    """Return the labels of users by id; costs one query."""
    wanted = sorted(each for each in user_ids if each is not None)
    if not wanted:
        return {}
    rows: Any = User.select(User.id, label_column()).where(User.id.in_(wanted))
    return dict(rows.tuples())


def person(
    user_id: int | None, names: Mapping[int, str], key: str = "", key_name: str = ""
) -> Person | None:
    """Return a user with the name that `names` has for them."""
    return None if user_id is None else Person(user_id, names.get(user_id, ""), key, key_name)
