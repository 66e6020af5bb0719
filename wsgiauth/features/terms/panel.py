"""The accepted terms on the page of a user in the staff panel."""

from wsgiauth.extend import User, UserList, UserRow, _
from wsgiauth.features.terms.acceptances import list_accepted


class UserTerms(UserList):
    """Lists the versions that a user has accepted."""

    name = "accepted_terms"
    title = _("Accepted terms")
    empty = _("The user has not accepted any terms.")
    icon = "document"

    def rows(self, user: User, now: float) -> list[UserRow]:
        """Return the versions, the latest first."""
        return [
            UserRow(name=each.version, since=each.accepted_at, document=each.document())
            for each in list_accepted(user)
        ]
