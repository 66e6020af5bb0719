"""The changes that the audit trail keeps; the reason is the slug, perhaps with a role."""

from wsgiauth.extend import Change, _, pgettext

from .roles import Role


def _with_role(slug: str, role: str) -> str:
    return pgettext("reason of an event", "%(slug)s: %(role)s", slug=slug, role=Role(role).words)


def _change(name: str, title: str, icon: str) -> Change:
    reasons = {"(.+) (member|admin|owner)": _with_role}
    return Change(f"organisations_{name}", title, icon=icon, reasons=reasons)


FOUNDED = _change("founded", _("Organisation founded"), "users")
DELETED = _change("deleted", _("Organisation deleted"), "trash")
INVITED = _change("invited", _("Invited to an organisation"), "mail")
UNINVITED = _change("uninvited", _("Invitation to an organisation revoked"), "mail")
JOINED = _change("joined", _("Joined an organisation"), "login")
LEFT = _change("left", _("Left an organisation"), "logout")
ROLE_CHANGED = _change("role_changed", _("Role in an organisation changed"), "shield")

CHANGES = (FOUNDED, DELETED, INVITED, UNINVITED, JOINED, LEFT, ROLE_CHANGED)
