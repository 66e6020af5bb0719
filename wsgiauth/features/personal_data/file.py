"""The file of a person's own data, written a piece at a time."""

import json
from collections.abc import Iterator

from wsgiauth.extend import Change, PersonalData, Settings, User, _

DATA_EXPORTED = Change("data_exported", _("Personal data downloaded"), icon="download")

_READABLE = json.JSONEncoder(ensure_ascii=False)
ASCII = json.JSONEncoder()


def pieces(
    user: User, settings: Settings, data: PersonalData, *, encoder: json.JSONEncoder = _READABLE
) -> Iterator[str]:
    """Yield one JSON object, with each entry of a list on a line of its own.

    Args:
        user: As stored now.
        settings: With SECRET_KEY, which finds the failed logins.

    Raises:
        ApplicationError: See `PersonalData.of_application`; before the first piece.
    """
    members = data.of_account(user, settings)
    if data.function is not None:
        members["application"] = data.of_application(user)
    separator = "{\n"
    for name, value in members.items():
        yield f"{separator}{encoder.encode(name)}: {encoder.encode(value)}"
        separator = ",\n"
    for records in data.tables.values():
        yield f"{separator}{encoder.encode(records.name)}: ["
        between = "\n"
        for entry in records.read(user, settings):
            yield between + encoder.encode(entry)
            between = ",\n"
        yield "\n]"
    yield "\n}\n"
