"""How one password was hashed, but for its salt: the scheme, its costs and a pepper.

A method is stored as two strings, by which logins and counts tell methods apart.
"""

import base64
import hmac
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal, Self

from wsgiauth.accounts.passwords import normal_form
from wsgiauth.features.former_passwords.schemes import KINDS, Kind

PEPPERED = "-peppered"  # at the end of a scheme

_COST = re.compile(r"([a-z])=([0-9]{1,10})")
_MOST_DECOMPOSED = 1024  # characters; decomposing a hostile string takes quadratic time


@dataclass(frozen=True)
class Method:
    """A scheme with its costs.

    Attributes:
        scheme: A key of `KINDS`, perhaps with `PEPPERED`.
        parameters: The costs, such as `i=600000,l=32`.
    """

    scheme: str
    parameters: str

    @classmethod
    def of(cls, scheme: str, *costs: int, is_peppered: bool = False) -> Self:
        """Return the method with these costs, in the order of `Kind.names`."""
        written = zip(KINDS[scheme].names, costs, strict=True)
        parameters = ",".join(f"{name}={cost}" for name, cost in written)
        return cls(scheme + PEPPERED * is_peppered, parameters)

    @property
    def is_peppered(self) -> bool:
        """Whether the hash is not of the password, but of an HMAC of it."""
        return self.scheme.endswith(PEPPERED)

    @property
    def kind(self) -> Kind:
        """The scheme without the costs."""
        return KINDS[self.scheme.removesuffix(PEPPERED)]

    @property
    def costs(self) -> dict[str, int]:
        """The costs by their names."""
        return {name: int(number) for name, number in _COST.findall(self.parameters)}

    def problem(self, salt: bytes) -> str | None:
        """Return why a hash cannot be imported, as the end of a sentence, or None."""
        kind = KINDS.get(self.scheme.removesuffix(PEPPERED))
        if kind is None:
            return "is of an unknown scheme"
        written = [_COST.fullmatch(each) for each in self.parameters.split(",")]
        if tuple(each and each[1] for each in written) != kind.names:
            return "has unknown parameters"
        return kind.problem(self.costs, salt)

    def canonical(self) -> Self:
        """Return the same method, its costs without leading zeros."""
        scheme = self.scheme.removesuffix(PEPPERED)
        return self.of(scheme, *self.costs.values(), is_peppered=self.is_peppered)

    def digest(self, form: str, salt: bytes, pepper: str | None) -> bytes:
        """Return the digest that the other software computed of this form of a password."""
        password = form.encode(errors="replace")
        if self.is_peppered:
            key = (pepper or "").encode()
            password = base64.b64encode(hmac.digest(key, password, "sha512"))
        return self.kind.digest(password, salt, self.costs)


def forms(password: str, *, is_peppered: bool) -> dict[str, bool]:
    """Return the forms of a typed password that can have been hashed, at most two.

    The value says whether the form is canonically equivalent to the password (UAX #15): for é in
    two code points it is, for a fullwidth letter as a usual one (NFKD) not. Flask-Security hashed
    an HMAC of NFKD, most other software the password as it came.
    """
    equivalent = _decomposed(password, "NFD")
    if is_peppered:
        found = (password, _decomposed(password, "NFKD"), normal_form(password))
    else:
        found = (normal_form(password), password, equivalent)
    return {form: _decomposed(form, "NFD") == equivalent for form in [*dict.fromkeys(found)][:2]}


def _decomposed(password: str, form: Literal["NFD", "NFKD"]) -> str:
    is_short = len(password) <= _MOST_DECOMPOSED
    return unicodedata.normalize(form, password) if is_short else password
