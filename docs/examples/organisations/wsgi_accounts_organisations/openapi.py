"""What the OpenAPI document says of organisations."""

from wsgiauth.extend import openapi
from wsgiauth.extend.openapi import Operation, answer, answer_or_page, array, object_of, text, time

from .endpoints import Joining, OneOrganisation, Organisations
from .members import SLUG
from .panel import OrganisationsPanel
from .roles import Role

_ID, _WHEN, _ROLE = openapi.row_id(), time(), text("The role.", enum=[*map(str, Role)])
_NAMES = {"slug": text("In URLs and tokens.", pattern=f"^{SLUG}$"), "name": text("For people.")}
_MEMBER = object_of(
    user=openapi.row_id("The user."),
    label=text("What people call the user, or a part of the address with USERNAMES off."),
    email=openapi.nullable(text("For admins and owners; null for others.")),
    role=_ROLE,
    joined_at=_WHEN,
)
_INVITATION = object_of(id=text(), email=text(), role=_ROLE, until=_WHEN)
_LISTED = object_of(id=_ID, **_NAMES, founded_at=_WHEN, members=openapi.integer(minimum=0))

MEMBERSHIP = openapi.obj(
    "OrganisationMembership", organisation_id=_ID, **_NAMES, role=_ROLE, joined_at=_WHEN
)
MEMBERSHIPS = openapi.obj("OrganisationMemberships", organisations=array(MEMBERSHIP))
ORGANISATION = openapi.obj(
    "Organisation",
    MEMBERSHIP,
    members=array(_MEMBER),
    invitations=array(_INVITATION, "The open ones, for admins and owners."),
)
ORGANISATIONS = openapi.obj(
    "Organisations",
    organisations=array(_LISTED, maxItems=50),
    next=openapi.nullable(text("The path and query of the next page. Null: this is the last.")),
)

_ONE = (openapi.in_path("slug", "The organisation.", _NAMES["slug"], example="engines"),)
_AFTER = (openapi.query("after", "Only those with a greater id.", _ID),)
_ALL = (answer_or_page("The organisations.", ORGANISATIONS),)
_OWN = (answer_or_page("The memberships, the oldest first.", MEMBERSHIPS),)
_SHOWN = (answer_or_page("The organisation.", ORGANISATION),)
_CHANGED = answer(200, "The organisation.", {"anyOf": [ORGANISATION, openapi.DETAIL]})

OPERATIONS = {
    Organisations: {
        "get": Operation("listOrganisations", "The caller's organisations", answers=_OWN),
        "post": Operation(
            "foundOrganisation",
            "Found an organisation",
            "The caller becomes its owner.",
            answers=(answer(200, "The memberships of the caller.", MEMBERSHIPS),),
            example={"name": "Analytical Engines", "slug": "engines"},
        ),
    },
    OneOrganisation: {
        "get": Operation("showOrganisation", "An organisation", parameters=_ONE, answers=_SHOWN),
        "post": Operation(
            "changeOrganisation",
            "Change the role of a member, remove one, invite a person, or revoke an invitation",
            "Admins and owners do this up to their own role; all members can remove themselves, and"
            " with the only one, the organisation is deleted. The answer to an invitation does not"
            " depend on whether the address has an account.",
            parameters=_ONE,
            answers=(_CHANGED,),
            example={"email": "grace@example.org", "role": "admin"},
        ),
    },
    Joining: {
        "get": Operation("showInvitation", "The page that the link of an invitation opens"),
        "post": Operation(
            "joinOrganisation",
            "Accept an invitation",
            "The account must have the invited address.",
            answers=(answer(200, "The new membership.", MEMBERSHIP),),
        ),
    },
    OrganisationsPanel: {
        "get": Operation("listAll", "All organisations", parameters=_AFTER, answers=_ALL),
    },
}
