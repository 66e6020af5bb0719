"""Rows of a CSV file: parsed for an import, and written by an export."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from wsgiauth.accounts import names
from wsgiauth.accounts.former import FormerHash
from wsgiauth.accounts.listing import user_pages
from wsgiauth.accounts.models import PROVEN_HERE
from wsgiauth.accounts.registration import NOTHING, Answers, Registration
from wsgiauth.exceptions import ConfigurationError, ValidationError
from wsgiauth.features.former_passwords.formats import Options, read, written_hashes
from wsgiauth.features.providers.identities import MOST_IDENTITIES, Identity, identity_id
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.transfer.cells import read_cell, write_cell
from wsgiauth.settings.kinds import parse_bool
from wsgiauth.settings.oidc import is_issuer
from wsgiauth.storage.models import utc_now, utc_text

NAMES = ("username", "email")
FLAGS = {"is_active": True, "is_staff": False, "is_superuser": False}  # with their defaults
COLUMNS = (
    *(*NAMES, "hashed_password", *FLAGS),
    *("created_at", "email_verified_at", "email_verified_by", "permissions", "identities"),
)

_MAX_LENGTH = 255  # characters of an issuer and of a subject (OpenID Connect Core 1.0, section 2)
_PROVIDER_MAX_LENGTH = 32
_SHOWN = 100  # characters
_SUBJECT = re.compile("[!-~]([ -~]*[!-~])?")
_NOT_ENCODED = re.compile("%(?![0-9A-Fa-f]{2})|[#,;]")  # another separator than a space


class ImportedRow(NamedTuple):
    """A valid row."""

    line: int  # of its file
    values: dict[str, Any]  # by the column of the user
    permissions: list[str]
    identities: list[ProviderAccount]
    former: FormerHash
    answers: Answers = NOTHING
    has_made_username: bool = False  # the file has none

    @property
    def keys(self) -> tuple[str, str]:
        """The keys of both names."""
        return self.values["username_key"], self.values["email_key"]

    @property
    def identity_keys(self) -> dict[str, ProviderAccount]:
        """The accounts of other providers by keys, which differ from the keys of all names."""
        return {
            f"identity {identity_id(each.issuer, each.subject)}": each for each in self.identities
        }


def parse_row(
    line: int,
    fields: Mapping[str, str],
    *,
    options: Options,
    providers: Mapping[str, str],
    registration: Registration,
    has_usernames: bool,
) -> ImportedRow:
    """Return the row of a line.

    Args:
        fields: Some of `COLUMNS`, as `write_cell` writes them, and the application's fields; empty
            for the default. Without a `hashed_password`, the user has no password yet.
        options: What the hashes of the file do not say about themselves.
        providers: The names of other providers, by their issuers.
        has_usernames: Whether a username is needed; otherwise, a missing one is made.

    Raises:
        ValidationError: A field breaks a rule.
        ApplicationError: A `check` of the application failed.
        ConfigurationError: The hash needs a package that is not installed.
    """
    given = {name: read_cell(value.strip()) for name, value in fields.items()}
    values: dict[str, Any] = {name: given.get(name, "") for name in NAMES}
    has_made_username = not (has_usernames or values["username"])
    if has_made_username:
        values["username"] = names.make_username()
    problems = {name: problem_of(values[name]) for name, problem_of in _NAME_PROBLEMS.items()}
    errors = {name: [problem] for name, problem in problems.items() if problem is not None}
    for name in _PARSERS:
        try:
            values[name] = _PARSERS[name](name, given.get(name, ""))
        except ValueError as error:
            errors[name] = [str(error)]
    hashed_password = given.get("hashed_password", "")
    former = FormerHash("")
    # Django writes "!" and characters for a user without a password.
    if hashed_password and not hashed_password.startswith("!"):
        try:
            former = read(hashed_password, options)
        except ConfigurationError:  # a ValueError, but the hash is not at fault
            raise
        except ValueError as error:
            errors["hashed_password"] = [
                f"hashed_password {error}; leave it empty to import the user without a password."
            ]
    values["hashed_password"] = former.hashed_password
    answers = registration.read(given)
    errors |= named_errors(answers.errors)
    if errors:
        raise ValidationError(errors)
    permissions, accounts = values.pop("permissions"), values.pop("identities")
    identities = [_identity(issuer, subject, providers) for issuer, subject in accounts]
    values |= {f"{name}_key": names.key(values[name]) for name in NAMES}
    return ImportedRow(line, values, permissions, identities, former, answers, has_made_username)


def identity_cell(issuer: str, subject: str) -> str:
    """Return the value of the column for an account of a provider."""
    return f"{issuer}#{quote(subject, safe='')}"


def named_errors(errors: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return messages that name their fields."""
    return {name: [f"{name}: {each}" for each in found] for name, found in errors.items()}


def _parse_flag(name: str, text: str) -> bool:
    value = parse_bool(text) if text else FLAGS[name]
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be yes or no.")
    return value


def _parse_time(name: str, text: str) -> datetime | None:
    if not text:
        return utc_now() if name == "created_at" else None
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} must be a time such as 2026-11-02T09:05:00Z.") from None
    return moment.replace(microsecond=0)


def _parse_proof(name: str, text: str) -> str:
    is_ours = text == "" or text in PROVEN_HERE
    if not is_ours and not (is_issuer(text) and len(text) <= _MAX_LENGTH):
        raise ValueError(f"{name} must be link, operator, the issuer of a provider, or empty.")
    return text


def _parse_permissions(_name: str, text: str) -> list[str]:
    try:
        return [names.check_permission(each) for each in dict.fromkeys(text.split())]
    except ValueError as error:
        raise ValueError(f"permissions: {error}.") from None


def _parse_identities(_name: str, text: str) -> list[tuple[str, str]]:
    """Return the issuers and the subjects."""
    found = dict.fromkeys(map(_parse_identity, text.split()))
    if len(found) > MOST_IDENTITIES:
        raise ValueError(f"identities has more than {MOST_IDENTITIES} values.")
    return list(found)


def _parse_identity(text: str) -> tuple[str, str]:
    issuer, _, quoted = text.partition("#")
    if not is_issuer(issuer) or len(issuer) > _MAX_LENGTH or _NOT_ENCODED.search(quoted):
        raise ValueError(
            "identities must have the form issuer#subject, such as"
            " https://accounts.google.com#1082, with the subject percent-encoded."
        )
    subject = unquote(quoted)
    if len(subject) > _MAX_LENGTH or not _SUBJECT.fullmatch(subject):
        raise ValueError(
            f"identities: a subject must have 1 to {_MAX_LENGTH} printable ASCII characters."
        )
    return issuer, subject


def _identity(issuer: str, subject: str, providers: Mapping[str, str]) -> ProviderAccount:
    """Return an account of a provider; its first login brings its name."""
    host = urlsplit(issuer).netloc[:_PROVIDER_MAX_LENGTH]
    return ProviderAccount(providers.get(issuer, host), issuer, subject, subject[:_SHOWN])


# A reserved username, too: it comes back from an export.
_NAME_PROBLEMS = {"username": names.username_problem, "email": names.email_problem}

_PARSERS = {
    **dict.fromkeys(FLAGS, _parse_flag),
    "created_at": _parse_time,
    "email_verified_at": _parse_time,
    "email_verified_by": _parse_proof,
    "permissions": _parse_permissions,
    "identities": _parse_identities,
}


def exported_rows(*, with_hashes: bool) -> Iterator[list[str]]:
    """Yield the cells of `COLUMNS` for each user, the oldest account first."""
    for page in user_pages():
        ids = [user.id for user, _ in page]
        identities = _identities(ids)
        hashes = written_hashes(ids) if with_hashes else {}
        for user, permissions in page:
            yield [
                write_cell(user.username),
                write_cell(user.email),
                write_cell(hashes.get(user.id, "")),  # a user deleted meanwhile has none
                *("yes" if getattr(user, flag) else "no" for flag in FLAGS),
                utc_text(user.created_at),
                utc_text(user.email_verified_at) if user.email_verified_at else "",
                write_cell(user.email_verified_by),
                write_cell(" ".join(permissions)),
                write_cell(" ".join(sorted(identities.get(user.id, ())))),
            ]


def _identities(user_ids: list[int]) -> Mapping[int, list[str]]:
    found = defaultdict(list)
    rows = Identity.select(Identity.user, Identity.issuer, Identity.subject)
    for row in rows.where(Identity.user.in_(user_ids)):
        found[row.user_id].append(identity_cell(row.issuer, row.subject))
    return found
