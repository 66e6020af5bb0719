"""A confirmation by a new login at a provider that the user has connected."""

from wsgiauth.exceptions import ValidationError
from wsgiauth.features.providers.oidc import errands
from wsgiauth.features.providers.oidc.errands import Errand
from wsgiauth.features.providers.origins import ProviderOrigins
from wsgiauth.features.providers.redirects import find_provider, send_to_provider
from wsgiauth.forms import MemberSubmission
from wsgiauth.messages import _
from wsgiauth.web.responses import Response

PROVIDER = "provider"  # the field of the buttons that lead to a provider


def ask_provider(submission: MemberSubmission) -> Response:
    """Send the browser to a provider of the user, at which they log in again."""
    site, user, name = submission.site, submission.member.user, submission.fields[PROVIDER]
    origins = site.part(ProviderOrigins)
    buttons = origins.buttons_of(user) if origins else ()
    if name not in [each.name for each in buttons]:
        raise ValidationError({PROVIDER: [_("You have connected no account of this provider.")]})
    errand = Errand(errands.CONFIRM, submission.destination, user_id=user.id)
    return send_to_provider(submission, find_provider(site, name), errand)
