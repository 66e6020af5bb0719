"""Files of clients, with which another installation continues: same ids, same secrets.

A file has the digests of secrets, which are of no use to a reader. But anyone who can change a file
can add a redirect URI: it needs the protection of a configuration.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import NoneType
from typing import Any, NamedTuple

from wsgiauth import events
from wsgiauth.accounts.groups import Group
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.oauth_server.clients import (
    CONFIDENTIAL,
    PUBLIC,
    SERVICE,
    ClientFields,
    digests_of,
    rows_of_clients,
    write,
)
from wsgiauth.features.oauth_server.event_kinds import CLIENT_CREATED
from wsgiauth.features.oauth_server.origins import record
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict

_KINDS: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "name": (str,),
    "kind": (str,),
    "is_trusted": (bool,),
    "redirect_uris": (list,),
    "scopes": (list,),
    "group": (str, NoneType),
    "algorithm": (str, NoneType),
    "logout_uri": (str, NoneType),
    "logout_redirects": (list,),
    "launch_url": (str, NoneType),
    "is_without_pkce": (bool,),
    "audiences": (list,),
    "created_at": (str,),
    "digests": (list,),
}
# Keys that files of earlier versions do not have, with what their clients are.
_FORMER: Mapping[str, object] = {"launch_url": None, "is_without_pkce": False, "audiences": []}
_ID = re.compile("[0-9A-Za-z]{1,32}")
_OWN_ID = "wsgiauth"  # the client_id of tokens for services that this site obtains itself
_DIGEST = re.compile("[0-9a-f]{64}")  # of SHA-256


class Imported(NamedTuple):
    """How many clients an import has created, changed, and left as they were."""

    created: int
    changed: int
    same: int


def exported_clients() -> list[dict[str, object]]:
    """Return the clients of operators, ready for JSON, as `import_clients` reads them.

    An import would make approved clients of those that have registered themselves.
    """
    documents = []
    for row, listed in rows_of_clients():
        if not listed.registered_itself:
            document = {**listed.document(), "digests": digests_of(row)}
            documents.append({name: document[name] for name in _KINDS})
    return documents


def read_clients(text: str) -> list[Mapping[str, Any]]:
    """Return the clients in a file.

    Raises:
        ValidationError: It is not JSON, or has another form.
    """
    try:
        documents = json.loads(text)
    except (ValueError, RecursionError):
        raise _invalid("The file is not JSON.") from None
    if not isinstance(documents, list):
        raise _invalid("The file must be a list of clients.")
    documents = [{**_FORMER, **each} if isinstance(each, dict) else each for each in documents]
    for number, each in enumerate(documents, 1):
        problem = _problem_of(each)
        if problem is not None:
            raise _invalid(f"Client {number}: {problem}")
    ids = [each["id"] for each in documents]
    if len(set(ids)) < len(ids):
        raise _invalid("The file has two clients with the same id.")
    return documents


@repeated_after_conflict
def import_clients(documents: Sequence[Mapping[str, Any]]) -> Imported:
    """Create the clients of a file, or give those with the same ids what it says: all or none.

    Raises:
        ValidationError: A client breaks a rule, has registered itself, its group is missing, or
            users log in to it here and not in the file, or the reverse.
    """
    created = changed = same = 0
    with database.atomic():
        for each in documents:
            columns = _columns(each)
            row = Client.find_by_id(each["id"])
            if row is None:
                Client.insert(id=each["id"], **columns).execute()
                record(Client.get_by_id(each["id"]))
                events.emit(CLIENT_CREATED, reason=each["id"])
                created += 1
            elif row.expires_at is not None:  # it would be deleted when unused, even if trusted
                raise _invalid(f"Client {row.id} has registered itself here: remove it first.")
            elif row.is_service != columns["is_service"]:  # users may have allowed it
                raise _invalid(f"Client {row.id} is of another kind here: remove it first.")
            elif write(row, columns):
                changed += 1
            else:
                same += 1
    return Imported(created, changed, same)


def _problem_of(document: object) -> str | None:
    """Return what is wrong with the form of a client, or None."""
    if not isinstance(document, dict) or document.keys() != _KINDS.keys():
        return f"it must have the keys {', '.join(_KINDS)}, and no others."
    for name, kinds in _KINDS.items():
        value: Any = document[name]
        texts = value if isinstance(value, list) else []
        if not isinstance(value, kinds) or not all(isinstance(each, str) for each in texts):
            return f"{name} has the wrong type."
    if not _ID.fullmatch(document["id"]):
        return "the id must be 1 to 32 ASCII letters and digits."
    if document["id"] == _OWN_ID:
        return f"the id must not be {_OWN_ID}, which tokens for services have."
    if _seconds(document["created_at"]) is None:
        return "created_at must be a time such as 2026-11-02T09:05:00Z."
    digests = document["digests"]
    numbers = {PUBLIC: (0,), CONFIDENTIAL: (1, 2), SERVICE: (1, 2)}.get(document["kind"], ())
    if len(digests) not in numbers or not all(map(_DIGEST.fullmatch, digests)):
        return (
            "the kind must be public, or confidential or service with one or two SHA-256 digests."
        )
    return None


def _columns(document: Mapping[str, Any]) -> dict[str, object]:
    """Return the columns of a client in a file, or raise ValidationError."""
    fields = ClientFields(
        document["name"],
        tuple(document["redirect_uris"]),
        tuple(document["scopes"]),
        _group_id(document),
        document["kind"] == PUBLIC,
        document["kind"] == SERVICE,
        document["is_trusted"],
        document["algorithm"] or "",
        document["logout_uri"] or "",
        tuple(document["logout_redirects"]),
        document["launch_url"] or "",
        document["is_without_pkce"],
        tuple(document["audiences"]),
    )
    try:
        fields.check()
    except ValidationError as error:
        raise _invalid(f"Client {document['id']}: {error}") from None
    digests = [*document["digests"], "", ""]
    times = {"created_at": _seconds(document["created_at"])}
    return {**fields.columns(), "digest": digests[0], "former_digest": digests[1], **times}


def _group_id(document: Mapping[str, Any]) -> int | None:
    """Return the id of the group; a missing one must not let everyone in."""
    name = document["group"]
    if name is None:
        return None
    group = Group.objects.find(name)
    if group is None:
        raise _invalid(f"Client {document['id']}: there is no group {name!r}.")
    found: int = group.id
    return found


def _seconds(text: str) -> int | None:
    """Return a time with an offset as seconds since the epoch, or None."""
    try:
        moment = datetime.fromisoformat(text)
        is_fit = moment.tzinfo is not None and moment.astimezone(UTC).year >= 1970
    except (ValueError, OverflowError):
        return None
    return int(moment.timestamp()) if is_fit else None


def _invalid(problem: str) -> ValidationError:
    return ValidationError({"clients": [problem]})
