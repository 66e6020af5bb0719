"""The list of features, with one declaration for each, and those that FEATURES adds to it."""

import os
from collections.abc import Iterable

from wsgiauth.accounts.former import FormerHash
from wsgiauth.events import Recorder
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import Feature, own_tables
from wsgiauth.features.audit.feature import FEATURE as AUDIT
from wsgiauth.features.factors.feature import FEATURE as FACTORS
from wsgiauth.features.former_passwords.feature import FEATURE as FORMER_PASSWORDS
from wsgiauth.features.former_passwords.people import read_hash
from wsgiauth.features.forward_auth.feature import FEATURE as FORWARD_AUTH
from wsgiauth.features.health.feature import FEATURE as HEALTH
from wsgiauth.features.keys.feature import FEATURE as KEYS
from wsgiauth.features.links.feature import FEATURE as LINKS
from wsgiauth.features.login_codes.feature import FEATURE as LOGIN_CODES
from wsgiauth.features.metrics.feature import FEATURE as METRICS
from wsgiauth.features.notices.feature import FEATURE as NOTICES
from wsgiauth.features.oauth_server.feature import FEATURE as OAUTH_SERVER
from wsgiauth.features.panel.feature import FEATURE as PANEL
from wsgiauth.features.personal_data.feature import FEATURE as PERSONAL_DATA
from wsgiauth.features.providers.feature import FEATURE as PROVIDERS
from wsgiauth.features.services.feature import FEATURE as SERVICES
from wsgiauth.features.terms.feature import FEATURE as TERMS
from wsgiauth.features.transfer.feature import FEATURE as TRANSFER
from wsgiauth.features.trusted_browsers.feature import FEATURE as TRUSTED_BROWSERS
from wsgiauth.features.webhooks.feature import FEATURE as WEBHOOKS
from wsgiauth.settings import Settings
from wsgiauth.settings.features import Entry, load, valid
from wsgiauth.settings.kinds import declarations, wrong_setting
from wsgiauth.site import Site
from wsgiauth.throttling.failed_logins import forget_deleted
from wsgiauth.web.pages import Page

FEATURES = (
    PERSONAL_DATA,
    AUDIT,
    FACTORS,
    TRUSTED_BROWSERS,
    KEYS,
    LINKS,
    LOGIN_CODES,
    PROVIDERS,
    SERVICES,
    FORWARD_AUTH,
    NOTICES,
    PANEL,
    OAUTH_SERVER,
    TERMS,
    TRANSFER,
    FORMER_PASSWORDS,
    HEALTH,
    METRICS,
    WEBHOOKS,
)

# A feature of FEATURES replaces no part of wsgiauth, and identifies no users.
_OWN_ALONE = ("replaces", "credential_kinds", "way_in", "is_way_in", "factor_kinds")


def features_of(settings: Settings) -> tuple[Feature, ...]:
    """Return the features of a site: wsgiauth's own, then those of the setting FEATURES.

    Raises:
        ConfigurationError: One of the latter is no `Feature`, has the name of one of the former, or
            an internal attribute, or tables without migrations.
    """
    return _with_own(settings.FEATURES)


def features_of_process() -> tuple[Feature, ...]:
    """Return the features of the process environment, for the parsers of commands.

    Raises:
        ConfigurationError: FEATURES is wrong.
    """
    setting = declarations(Settings)["FEATURES"]
    entries = setting.checked("FEATURES", setting.parse(os.environ.get("FEATURES", "")))
    return _with_own(valid(entries))


def _with_own(entries: Iterable[Entry]) -> tuple[Feature, ...]:
    return (*FEATURES, *map(_checked, load(entries)))


def _checked(found: object) -> Feature:
    if not isinstance(found, Feature):
        raise wrong_setting("FEATURES", f"names of features; {found!r} is no Feature")
    if found.name in {each.name for each in FEATURES}:
        raise wrong_setting("FEATURES", f"further features; wsgiauth itself has {found.name}")
    for attribute in _OWN_ALONE:
        if getattr(found, attribute) != getattr(Feature, attribute):
            expected = f"features without {attribute}, which is internal; {found.name} has it"
            raise wrong_setting("FEATURES", expected)
    tables = own_tables(found)
    if tables and found.migrations is None:
        raise ConfigurationError(
            f"The feature {found.name} has the table {min(tables)}, but no folder `migrations`:"
            " check that its declaration has `folder`, and its package the migrations."
        )
    return found


def recorders(settings: Settings, site: Site | None = None) -> list[Recorder]:
    """Return what is called in the transaction of each change of an account; see `Feature`."""
    made = (each.recorder(settings, site) for each in features_of(settings))
    return [forget_deleted, *(each for each in made if each is not None)]


def read_former_hash(text: str, *, settings: Settings) -> FormerHash:
    """Return a hash of other software as it is stored, or raise ValidationError."""
    return read_hash(text, settings=settings)


def page_samples(features: Iterable[Feature] = FEATURES) -> list[Page]:
    """Return examples of each page. The last example of a template is the most usual one."""
    from wsgiauth.endpoints.samples import PAGES

    return [*(page for each in features for page in each.pages()), *PAGES]
