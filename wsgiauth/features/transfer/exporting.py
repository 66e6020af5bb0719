"""Export of all accounts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from wsgiauth.accounts.listing import user_pages
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.transfer.cells import write_cell
from wsgiauth.features.transfer.rows import FLAGS, identity_cell
from wsgiauth.storage.models import utc_text


def exported_rows(*, with_hashes: bool) -> Iterator[list[str]]:
    """Yield a row for each user, the oldest account first, with the cells of `COLUMNS`.

    Without `with_hashes`, the hash of the password is empty.
    """
    for page in user_pages():
        identities = _identities([user.id for user, _ in page])
        for user, permissions in page:
            yield [
                write_cell(user.username),
                write_cell(user.email),
                write_cell(user.hashed_password) if with_hashes else "",
                *("yes" if getattr(user, flag) else "no" for flag in FLAGS),
                utc_text(user.created_at),
                utc_text(user.email_verified_at) if user.email_verified_at else "",
                write_cell(user.email_verified_by),
                write_cell(" ".join(permissions)),
                write_cell(" ".join(sorted(identities.get(user.id, ())))),
            ]


def _identities(user_ids: list[int]) -> Mapping[int, list[str]]:
    """Return the accounts of other providers by user."""
    found = defaultdict(list)
    rows = Identity.select(Identity.user, Identity.issuer, Identity.subject)
    for row in rows.where(Identity.user.in_(user_ids)):
        found[row.user_id].append(identity_cell(row.issuer, row.subject))
    return found
