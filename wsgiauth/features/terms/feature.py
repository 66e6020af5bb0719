"""What the feature `terms` declares: see `wsgiauth.feature`."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from wsgiauth.extend import (
    Command,
    Feature,
    Finding,
    Page,
    PartFactories,
    Question,
    Records,
    Settings,
    Site,
    _,
    counted,
)
from wsgiauth.features.terms.acceptances import (
    TERMS_ACCEPTED,
    count,
    own_acceptances,
    withdraw_all,
)
from wsgiauth.features.terms.demand import (
    OTHER_VERSION,
    TERMS_REQUIRED,
    Terms,
    TermsDemand,
    TermsField,
)
from wsgiauth.features.terms.panel import UserTerms
from wsgiauth.features.terms.terms import TermsOfUse


def _parts(settings: Settings) -> PartFactories:
    if settings.TERMS_VERSION is None:
        return {}
    return {Terms: lambda _: Terms(settings), UserTerms: lambda _: UserTerms()}


def _demands(settings: Settings) -> Iterator[TermsDemand]:
    if settings.TERMS_VERSION is not None:
        yield TermsDemand(Terms(settings))


def _registration_fields(settings: Settings) -> Iterator[TermsField]:
    if settings.TERMS_VERSION is not None:
        yield TermsField(Terms(settings))


def _pages() -> Sequence[Page]:
    from wsgiauth.features.terms.samples import PAGES

    return PAGES


def _who_accepted(site: Site) -> Iterator[Finding]:
    version = site.settings.TERMS_VERSION
    if version is None:
        return
    counts = count(version)
    yield Finding(
        f"{counted(counts.accepted, 'active user')} accepted the terms of {version};"
        f" {counts.missing} did not, and are asked at their next visit.",
        is_risk=False,
    )


def _future(site: Site) -> Iterator[Finding]:
    version = site.settings.TERMS_VERSION or ""
    if version > f"{datetime.now(UTC):%Y-%m-%d}":
        sentence = f"TERMS_VERSION is {version}, a day to come; users must accept it at once."
        yield Finding(sentence, is_risk=False)


FEATURE = Feature(
    name="terms",
    commands={
        "terms": Command(
            "wsgiauth.features.terms.commands", "count the users who have accepted the terms of use"
        )
    },
    urls={"/terms": TermsOfUse()},
    openapi="wsgiauth.features.terms.openapi",
    parts=_parts,
    demands=_demands,
    at_first_proof=withdraw_all,
    registration_fields=_registration_fields,
    pages=_pages,
    personal_data={"wsgiauth_terms_acceptance": Records("accepted_terms", own_acceptances)},
    questions=(Question(_future, needs_database=False), Question(_who_accepted)),
    events=(TERMS_ACCEPTED,),
    headlines={
        TERMS_REQUIRED: _("Accept the terms of use"),
        OTHER_VERSION: _("The terms have changed"),
    },
)
