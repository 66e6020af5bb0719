"""What the feature `former_passwords` declares: see `wsgiauth.feature`."""

from wsgiauth.accounts.personal_data import Records
from wsgiauth.feature import Command, Feature
from wsgiauth.features.former_passwords.questions import QUESTIONS
from wsgiauth.features.former_passwords.site_passwords import SiteFormerPasswords, own_schemes
from wsgiauth.parts import PartFactories
from wsgiauth.settings import Settings


def _parts(settings: Settings) -> PartFactories:
    return {SiteFormerPasswords: lambda _: SiteFormerPasswords(settings)}


FEATURE = Feature(
    name="former_passwords",
    commands={
        "hashes": Command(
            "wsgiauth.features.former_passwords.commands",
            "count the users by how their password is hashed",
        )
    },
    parts=_parts,
    personal_data={"wsgiauth_former_password": Records("former_passwords", own_schemes)},
    questions=QUESTIONS,
)
