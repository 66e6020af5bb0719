"""A link of /auth/verify that proves an e-mail address, for the user who asked for it."""

from http import HTTPStatus

from wsgiauth.accounts.tables import ADDRESS, OneTimeSecret
from wsgiauth.authentication.address_links import AddressProof, prove_address, read_address_proof
from wsgiauth.exceptions import RequestError, UnauthenticatedError
from wsgiauth.forms import Refusal, Submission
from wsgiauth.forms.endpoint import require_login
from wsgiauth.forms.link_purposes import LinkPurpose
from wsgiauth.forms.links import TOKEN, link_expired
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url, with_next

_ADVICE = "Ask for a new one on the page of your account."


class VerifyAddressPage(Page):
    """What the link does, and the button.

    Attributes:
        verify_url: Where the form is sent.
        account_url: The page of the account.
        token: The secret of the link.
        username: The user's name.
        email: The address to prove.
        present: The present address.
        message: Why the form was refused.
    """

    template = "verify_address.html"

    verify_url: str
    account_url: str
    token: str
    username: str
    email: str
    present: str
    message: str = ""


class AddressLink(LinkPurpose):
    """Stores the address for the user who asked for the link, and is logged in."""

    purpose = ADDRESS

    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Store the address; send an anonymous browser to the login and back to the link."""
        mount, token = mount_url(submission.environ), submission.fields[TOKEN]
        try:
            proof = _require_proof(submission, secret)
        except UnauthenticatedError:
            if submission.wants_json:
                raise
            login_url = with_next(f"{mount}/login", f"{mount}/verify?{TOKEN}={token}")
            return redirect(HTTPStatus.SEE_OTHER, login_url)
        if not prove_address(proof, secret):
            raise link_expired(_ADVICE)
        if submission.wants_json:
            return json_response({"detail": "E-mail address verified."})
        return redirect(HTTPStatus.SEE_OTHER, f"{mount}/account?done=email")

    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> Page:
        """Return the page with the button.

        Raises:
            UnauthenticatedError: The client is anonymous.
            RequestError: 403: the client is another user. 410: the link has ended.
            peewee.DatabaseError: The database failed.
        """
        mount, proof = mount_url(submission.environ), _require_proof(submission, secret)
        return VerifyAddressPage(
            verify_url=f"{mount}/verify",
            account_url=f"{mount}/account",
            token=submission.fields[TOKEN],
            username=proof.user.username,
            email=proof.email,
            present=proof.user.email,
            message=refusal.text,
        )


def _require_proof(submission: Submission, secret: OneTimeSecret) -> AddressProof:
    proof = read_address_proof(secret)
    if proof is None:
        raise link_expired(_ADVICE)
    if require_login(submission.environ, submission.site).user != proof.user:
        raise RequestError(
            HTTPStatus.FORBIDDEN,
            "other_account",
            "Another account asked for this link. Log in to that account, then open the link"
            " again.",
        )
    return proof
