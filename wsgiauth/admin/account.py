"""What the panel shows of a user, and what the member of the staff can do with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from wsgiauth.accounts.administration import Party
from wsgiauth.accounts.held_permissions import HeldPermission, held_permissions
from wsgiauth.accounts.index_walks import FoundUser
from wsgiauth.accounts.models import User
from wsgiauth.admin.actions import ACTIONS, Action
from wsgiauth.admin.groups import ListedGroup
from wsgiauth.authentication.factor_list import SecondFactors
from wsgiauth.authentication.factors import are_offered
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.key_list import ListedKey, list_keys
from wsgiauth.authentication.session_list import ListedSession, list_sessions
from wsgiauth.site import Site
from wsgiauth.storage.models import json_fields

_FIELDS = FoundUser._fields


@dataclass(frozen=True, kw_only=True)
class Account:
    """What the panel shows of a user.

    Attributes:
        id, username, email, is_active, is_staff, is_superuser, created_at, email_verified_at,
            last_login_at: See `User`.
        permissions: With where each comes from.
        groups: The groups of the user, by name.
        logins: The valid logins, the newest first; at most `LISTED`.
        second_factors: None on a site that has none.
        keys: The API keys that have not expired, the newest first.
        actions: What the member of the staff can do, by name.
    """

    id: int
    username: str
    email: str
    is_active: bool
    is_staff: bool
    is_superuser: bool
    created_at: datetime
    email_verified_at: datetime | None
    last_login_at: datetime | None
    permissions: tuple[HeldPermission, ...]
    groups: tuple[ListedGroup, ...]
    logins: tuple[ListedSession, ...]
    second_factors: SecondFactors | None
    keys: tuple[ListedKey, ...]
    actions: Mapping[str, Action]

    @classmethod
    def read(cls, site: Site, target: User, viewer: UserSession) -> "Account":
        """Return what the panel shows of `target` to `viewer`."""
        held = held_permissions(target)
        parties = (
            Party(viewer.user, viewer.user.permissions),
            Party(target, frozenset(each.name for each in held)),
        )
        now, settings = site.tokens.now(), site.settings
        return cls(
            **{name: getattr(target, name) for name in _FIELDS},
            permissions=tuple(held),
            groups=tuple(ListedGroup(each.id, each.name) for each in target.groups),
            logins=tuple(list_sessions(target, now, viewer.session_id)),
            second_factors=SecondFactors.read(target) if are_offered(settings) else None,
            keys=tuple(list_keys(target, now)),
            actions={
                name: action
                for name, action in ACTIONS.items()
                if action.is_offered(*parties, settings)
            },
        )

    def document(self) -> dict[str, object]:
        """Return the account, ready for JSON."""
        return {
            **json_fields({name: getattr(self, name) for name in _FIELDS}),
            "permissions": [each._asdict() for each in self.permissions],
            "groups": [each._asdict() for each in self.groups],
            "logins": [each.document() for each in self.logins],
            "second_factors": self.second_factors and self.second_factors.document(),
            "keys": [each.document() for each in self.keys],
            "actions": list(self.actions),
        }

    def in_section(self, section: str) -> list[Action]:
        """Return the actions that are offered in a section of the page."""
        return [each for each in self.actions.values() if each.section == section]
