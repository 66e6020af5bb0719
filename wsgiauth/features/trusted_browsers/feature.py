"""What the feature `trusted_browsers` declares: see `wsgiauth.feature`."""

from collections.abc import Iterator

from wsgiauth.extend import Feature, Finding, PartFactories, Question, Records, Settings, Site
from wsgiauth.extend.trusted_browsers import TrustedBrowser
from wsgiauth.features.trusted_browsers.browsers import TRUST_GIVEN, Browsers, own_browsers


def _parts(settings: Settings) -> PartFactories:
    return {Browsers: lambda _: Browsers(settings)} if settings.TRUSTED_BROWSER_DAYS else {}


def _useless(site: Site) -> Iterator[Finding]:
    if site.settings.TRUSTED_BROWSER_DAYS and not site.factors.are_offered:
        yield Finding(
            "TRUSTED_BROWSER_DAYS is set, but no login has a second step that a browser could skip:"
            " set FACTOR_KEY or PASSKEYS, or remove it."
        )


FEATURE = Feature(
    name="trusted_browsers",
    parts=_parts,
    events=(TRUST_GIVEN,),
    personal_data={"wsgiauth_trusted_browser": Records("trusted_browsers", own_browsers)},
    expiring={"trusted browser": TrustedBrowser},
    questions=(Question(_useless, needs_database=False, is_for_panel=True),),
)
