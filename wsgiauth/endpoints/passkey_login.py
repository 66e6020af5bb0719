"""A login by a passkey alone, without a name or a password."""

from wsgiauth import events
from wsgiauth.authentication.issuing import Login
from wsgiauth.authentication.passkeys.challenges import LOG_IN
from wsgiauth.authentication.passkeys.relying_party import Proof
from wsgiauth.forms import Submission
from wsgiauth.forms.handover import start_browser_login
from wsgiauth.forms.second_factor import invalid_passkey
from wsgiauth.site import Site


def login_options(site: Site) -> str:
    """Return what the login page asks the browser for; nothing without PASSKEYS."""
    party = site.relying_party
    return party.request_options(LOG_IN, now=site.tokens.now()) if party else ""


def log_in_with_passkey(submission: Submission, credential: str) -> Login:
    """Start the login of the user whose passkey it is.

    Args:
        submission: The form of the login page.
        credential: What the browser sent.

    Raises:
        RequestError: 401: the passkey is not accepted, for whatever reason.
        RetryLaterError: The attempt must wait.
        peewee.DatabaseError: The database failed.
    """
    proof, login = _accept(submission, credential), None
    if proof is not None:
        login = start_browser_login(submission, proof.user, methods=proof.methods)
    if proof is None or login is None:  # or the user has just changed
        events.emit("login_failed", reason="passkey")
        raise invalid_passkey()
    return login


def _accept(submission: Submission, credential: str) -> Proof | None:
    """Return whose passkey it is; what costs a query or a signature is counted."""
    site, networks = submission.site, submission.networks
    party, now = site.relying_party, site.tokens.now()
    presented = party.read(credential, LOG_IN, now=now) if party else None
    if party is None or presented is None:
        return None
    attempt = site.throttle.passkey(networks)
    attempt.begin()
    proof = party.accept(presented, now)
    if proof is not None:
        attempt.succeeded()
        site.throttle.passkey_login(proof.user, networks).begin()
    return proof
