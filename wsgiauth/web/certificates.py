"""Why the certificate of another server was refused, in words for the log."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl  # which takes half a megabyte, and which a site without other servers does not need

UNKNOWN_AUTHORITY = "unknown authority, see SSL_CERT_FILE"
REFUSED = "certificate"

# Of OpenSSL: no certificate of the issuer was found, or the last one signs itself.
_UNKNOWN = (2, 18, 19, 20, 21)


def problem_of(error: "ssl.SSLCertVerificationError") -> str:
    """Return `UNKNOWN_AUTHORITY` if the operator of this site can repair it, or `REFUSED`."""
    return UNKNOWN_AUTHORITY if error.verify_code in _UNKNOWN else REFUSED
