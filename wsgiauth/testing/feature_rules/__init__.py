"""The rules of `check_feature`: a module for each subject, whose function yields findings."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wsgiauth.events.actors import feature_code
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import Feature
from wsgiauth.testing.feature_rules.commands import check_commands
from wsgiauth.testing.feature_rules.declaration import check_declaration
from wsgiauth.testing.feature_rules.demands import check_demands
from wsgiauth.testing.feature_rules.document import check_document
from wsgiauth.testing.feature_rules.emails import check_emails
from wsgiauth.testing.feature_rules.endpoints import check_endpoints
from wsgiauth.testing.feature_rules.languages import check_languages
from wsgiauth.testing.feature_rules.pages import check_pages
from wsgiauth.testing.feature_rules.scene import Finding, Scene, logged
from wsgiauth.testing.feature_rules.tables import check_tables

if TYPE_CHECKING:
    from wsgiauth.testing.features import Fill

RULES = (
    check_declaration,
    check_tables,
    check_pages,
    check_endpoints,
    check_emails,
    check_document,
    check_languages,
    check_demands,
    check_commands,
)


def findings_of(
    feature: Feature, settings: Mapping[str, Any], languages: tuple[str, ...], fill: "Fill | None"
) -> list[Finding]:
    """Return each finding once; see `check_feature`."""
    try:
        scene = Scene(feature, settings, languages, fill)
    except ConfigurationError as error:
        place = f"the start of a site with {feature.name}"
        return [Finding("declaration", place, each) for each in error.problems]
    try:
        with logged() as records:
            found = [each for rule in RULES for each in _tried(rule, scene)]
        return [*dict.fromkeys((*found, *_left_out(records)))]
    finally:
        scene.close()


def _left_out(records: Iterable[logging.LogRecord]) -> Iterator[Finding]:
    """Yield what `feature_code` has logged, and suppressed."""
    for each in records:
        if each.funcName == feature_code.__name__ and each.exc_info:
            kind, error, _traceback = each.exc_info
            yield Finding("left out", each.getMessage(), f"{kind and kind.__name__}: {error}")


def _tried(rule: Callable[[Scene], Iterable[Finding]], scene: Scene) -> Iterator[Finding]:
    """Yield the findings of a rule, and an exception of the feature that ends it."""
    try:
        yield from rule(scene)
    except Exception as error:  # of the feature, which can raise anything
        subject = rule.__name__.removeprefix("check_")
        advice = f"{type(error).__name__}: {error}: nothing more was checked of this"
        yield Finding(subject, scene.feature.name, advice)
