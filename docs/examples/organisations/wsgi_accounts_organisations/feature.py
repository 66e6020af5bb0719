"""What the feature `organisations` declares: the map of this package."""

from pathlib import Path

from wsgiauth.extend import Command, Feature, Question, Records

from . import consequences, letters, memberships, panel, samples
from .changes import CHANGES
from .endpoints import Joining, OneOrganisation, Organisations
from .invitations import own_invitations
from .settings import OrganisationsSettings
from .tables import Invitation

FEATURE = Feature(
    name="organisations",
    settings=OrganisationsSettings,
    folder=Path(__file__).parent,
    urls={
        "/organisations": Organisations(),
        "/organisations/join": Joining(),
        "/organisations/{slug}": OneOrganisation(),
        "/admin/organisations": panel.OrganisationsPanel(),
    },
    openapi=f"{__package__}.openapi",
    pages=lambda: samples.PAGES,
    staff_sections=lambda settings: [panel.SECTION] if settings.ADMIN_PANEL else [],
    claims={"organisations": memberships.claim_of},
    id_claims={"organisations": memberships.claim_of},
    events=CHANGES,
    recorder=consequences.make_recorder,
    composers=lambda factors: letters.COMPOSERS,
    letter_samples=letters.LETTERS,
    personal_data={
        "organisations_member": Records("organisations", memberships.own_memberships),
        "organisations_invitation": Records("organisation_invitations", own_invitations),
    },
    expiring={"invitation to an organisation": Invitation},
    at_restore={"invitation to an organisation": Invitation},
    commands={"organisations": Command(f"{__package__}.commands", "list the organisations")},
    questions=(Question(memberships.inactive_owners),),
)
