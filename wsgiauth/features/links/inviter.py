"""Invitations by the code of the application."""

from collections.abc import Iterable

from wsgiauth.accounts.groups import Group, resolve_group
from wsgiauth.feature import Inviter
from wsgiauth.features.links.invitations import Invitation, InvitedGroup
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.site import Site


class LinkInviter(Inviter):
    """Invites people by a link, which is sent, or handed over by the caller."""

    def invite(
        self,
        site: Site,
        email: str,
        *,
        username: str,
        is_staff: bool,
        permissions: Iterable[str],
        groups: Iterable[Group | str],
    ) -> str | None:
        """Send an invitation; return its link if the site sends no emails."""
        invitation = Invitation(
            email=email,
            username=username,
            is_staff=is_staff,
            permissions=tuple(permissions),
            groups=tuple(InvitedGroup.of(resolve_group(group)) for group in groups),
        )
        return issue_invitation(
            invitation,
            site.outbox,
            site.settings,
            mount=site.pages.mount,
            now=site.tokens.now(),
        )
