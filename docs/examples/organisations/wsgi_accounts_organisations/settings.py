"""The settings, and the limits of what can happen in a day."""

from dataclasses import dataclass

from wsgiauth.extend import FeatureSettings, Limit, Site, _, limit, whole_number

_DAY = 24 * 60 * 60  # seconds
_MOST = {
    "organisations founded": 30,  # attempts of a user: each tells whether a slug is taken
    "organisation invitations to an address": 5,  # of all organisations together
    "organisation notices": 5,  # to a user, whose present address can be a stranger's
}


@dataclass(frozen=True, kw_only=True)
class OrganisationsSettings(FeatureSettings):
    """The names begin with the name of the feature."""

    ORGANISATIONS_PER_USER: int = limit(20, 1000, "how many organisations a user can be in")
    ORGANISATIONS_MEMBERS: int = whole_number(
        100, 1, 500, "how many members and open invitations an organisation can have"
    )
    ORGANISATIONS_INVITATIONS_PER_DAY: int = limit(
        50, 10_000, "how many people a user can invite in a day"
    )
    ORGANISATIONS_INVITATION_HOURS: int = whole_number(
        72, 1, 720, "how many hours the link of an invitation works"
    )


def count(site: Site, reason: str, subject: str) -> None:
    """Count what happens in a day; RetryLaterError: it is one too many."""
    settings = OrganisationsSettings.of(site.settings)
    most = _MOST.get(reason, settings.ORGANISATIONS_INVITATIONS_PER_DAY)
    refusal = _("You have done this too often today.")
    site.attempt(Limit(reason, most, (_DAY,), _DAY, refusal), subject).begin()
