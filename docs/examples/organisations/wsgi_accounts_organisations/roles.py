"""The roles of members, in ascending order of what they can do."""

from enum import StrEnum

from wsgiauth.extend import ForbiddenError, ValidationError, _, pgettext


class Role(StrEnum):
    """Members see each other; admins change who they are, up to the own role, as owners do."""

    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """The place in the order of what members can do."""
        return [*Role].index(self)

    @property
    def words(self) -> str:
        """The role in words."""
        return _WORDS[self]

    def covers(self, *roles: "Role") -> bool:
        """Return whether this role is at least each of the others."""
        return all(self.rank >= each.rank for each in roles)

    @classmethod
    def read(cls, text: str) -> "Role":
        """Return the role in a field; an empty one is the lowest."""
        try:
            return cls(text or cls.MEMBER)
        except ValueError:
            raise ValidationError({"role": [_("Choose a role.")]}) from None

    def require(self, *roles: "Role") -> None:
        """Refuse a member who cannot give or take these roles."""
        if not self.covers(Role.ADMIN, *roles):
            raise ForbiddenError(_("Your role in this organisation does not allow this."))


_WORDS = {
    Role.MEMBER: pgettext("organisation", "Member"),
    Role.ADMIN: pgettext("organisation", "Admin"),
    Role.OWNER: pgettext("organisation", "Owner"),
}
