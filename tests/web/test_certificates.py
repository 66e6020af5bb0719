"""Why a certificate was refused."""

import ssl

import pytest

from wsgiauth.web.certificates import REFUSED, UNKNOWN_AUTHORITY, problem_of


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        pytest.param(18, UNKNOWN_AUTHORITY, id="self-signed"),
        pytest.param(19, UNKNOWN_AUTHORITY, id="self-signed authority"),
        pytest.param(20, UNKNOWN_AUTHORITY, id="issuer not found"),
        pytest.param(10, REFUSED, id="expired"),
        pytest.param(62, REFUSED, id="another host"),
    ],
)
def test_only_an_unknown_authority_can_be_repaired_here(code, problem):
    error = ssl.SSLCertVerificationError(1, "refused")
    error.verify_code = code
    assert problem_of(error) == problem
