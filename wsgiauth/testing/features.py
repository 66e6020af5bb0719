"""The rules of wsgiauth's own features, for a feature of yours."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wsgiauth.accounts.models import User
from wsgiauth.feature import Feature
from wsgiauth.middleware import AuthMiddleware

Fill = Callable[[AuthMiddleware, User], Mapping[str, object]]


def check_feature(
    feature: Feature,
    settings: Mapping[str, Any] | None = None,
    *,
    languages: Iterable[str] = (),
    fill: Fill | None = None,
) -> None:
    """Check a feature by the rules that wsgiauth's own features keep.

    Makes a site with the feature and an empty database, and sends requests to it. The rules are
    about the declaration, tables and migrations, pages and their forms, responses to hostile
    requests, the OpenAPI document, translations, events, demands and commands.

    Args:
        feature: The feature.
        settings: The settings that turn all of it on; see `make_settings`.
        languages: The languages that it must be translated to, beside those of its catalogues.
        fill: Called with the `AuthMiddleware` and each new user. It inserts rows about the user
            into each table, and returns values for the named parts of the paths. Without it, pages
            about such rows are tested only as pages that do not exist.

    Raises:
        AssertionError: It breaks rules. The message has a line for each finding: what it is about,
            where it is, and what to do.
        ImportError: WebTest is not installed.

    Example:
        def test_the_feature_keeps_the_rules():
            check_feature(FEATURE, {"BADGES_COLOURS": 2}, fill=give_badge)
    """
    from wsgiauth.testing.feature_rules import findings_of  # few tests need the rules

    found = findings_of(feature, settings or {}, tuple(languages), fill)
    if found:
        raise AssertionError("\n".join(map(str, found)))
