"""The file of a person's own data, written a piece at a time."""

import json
from collections.abc import Callable, Iterator

from wsgiauth.extend import Change, PersonalData, Records, Settings, User, _

DATA_EXPORTED = Change("data_exported", _("Personal data downloaded"), icon="download")

_READABLE = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
ASCII = json.JSONEncoder(allow_nan=False)


def pieces(
    user: User,
    settings: Settings,
    data: PersonalData,
    *,
    encoder: json.JSONEncoder = _READABLE,
    report: Callable[[str], object] = lambda sentence: None,
) -> Iterator[str]:
    """Yield one JSON object, with each entry of a list on a line of its own.

    If the function of a list fails, the rest of the list is left out, and the list is in the member
    `incomplete`.

    Args:
        user: As stored now.
        settings: With SECRET_KEY, which finds the failed logins.
        report: Called with a sentence about each of these lists.

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
    failed: list[Records] = []
    for records in data.tables.values():
        yield f"{separator}{encoder.encode(records.name)}: ["
        between = "\n"
        for text in records.texts(user, settings, encoder.encode, failed):
            yield between + text
            between = ",\n"
        yield "\n]"
    if failed:
        yield f',\n"incomplete": {encoder.encode([each.name for each in failed])}'
    for each in failed:
        report(f"{each.name} is incomplete: a function of {each.feature} failed")
    yield "\n}\n"
