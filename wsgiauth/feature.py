"""What a feature declares. The kernel reads it, and imports no feature."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wsgiauth.authentication.second_factors import FactorKind
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One feature, as `wsgiauth.features` lists it.

    Attributes:
        name: Of the feature, in one word.
        factor_kinds: The kinds of second factors that it adds.
        parts: Makes what the feature adds to a site with these settings: no object of a class that
            another part has, and nothing where the feature is off. See `Site.part`.
    """

    name: str
    factor_kinds: tuple[FactorKind, ...] = ()
    parts: Callable[[Settings, Tokens], Iterable[object]]
