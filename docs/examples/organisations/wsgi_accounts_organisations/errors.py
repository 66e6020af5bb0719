"""What is refused, for people and for the OpenAPI document."""

from http import HTTPStatus

from wsgiauth.extend import Problem, RequestError, _

_ENDED = _("This invitation was used or revoked, or has expired.")
_REFUSALS = {
    "already_member": (409, _("A member has this email address.")),
    "last_owner": (409, _("Make another member an owner first.")),
    "link_expired": (410, _ENDED),
    "no_such_invitation": (404, _ENDED),
    "no_such_member": (404, _("The person has left the organisation.")),
    "organisation_full": (409, _("Remove members or invitations first.")),
    "other_account": (403, _("The invitation is for another email address than your account's.")),
    "slug_taken": (409, _("Another organisation has this short name.")),
    "too_many_organisations": (409, _("You cannot be in more organisations. Leave one first.")),
    # Raised by wsgiauth's own errors:
    "forbidden": (403, "The role of the caller does not allow it."),
    "not_found": (404, "The caller is in no organisation of this slug."),
}


def refused(code: str) -> RequestError:
    """Return the error with a code."""
    status, detail = _REFUSALS[code]
    return RequestError(HTTPStatus(status), code, detail)


def problem(code: str) -> Problem:
    """Return what the OpenAPI document says of an error."""
    status, detail = _REFUSALS[code]
    return Problem(f"Organisation.{code}", status, {code: detail})
