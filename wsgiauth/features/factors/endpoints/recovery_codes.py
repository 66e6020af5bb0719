"""GET, POST /auth/recovery-codes: codes in place of a lost authenticator app or passkey."""

import secrets
from datetime import datetime
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.identity import UserSession
from wsgiauth.exceptions import RequestError
from wsgiauth.features.factors import factors, recovery_codes
from wsgiauth.forms import FormPage, ListForm, MemberSubmission, Refusal, Submission
from wsgiauth.forms.done import just_done
from wsgiauth.forms.endpoint import SECURITY, AccountLink, Overview, State, require_login
from wsgiauth.forms.fields import Flag
from wsgiauth.forms.handover import next_after_set_up
from wsgiauth.forms.repeated import only_once
from wsgiauth.messages import _, ngettext
from wsgiauth.openapi.answers import Problem
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage.models import utc_now
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url

_SAVED = "saved"
_ADDED = {"added": "app", "passkey": "passkey"}  # by the `done` of the query


class RecoveryCodesPage(FormPage):
    """The user's new recovery codes, or how many are left."""

    template = "recovery_codes.html"
    codes_url = UrlBelow("recovery-codes")
    left: int
    set_up_url: str = ""  # for a user without a second factor
    codes: tuple[str, ...] = ()  # a new set
    label: str = ""  # the owner of the codes
    host: str = ""  # of the site
    made_at: datetime | None = None
    added: str = ""  # the type of a factor that was just added
    added_name: str = ""

    @property
    def is_shown_once(self) -> bool:
        """Whether it shows new codes."""
        return bool(self.codes)


_NO_FACTOR = Problem(
    "NoSecondFactor",
    409,
    {
        "no_second_factor": "The caller has no authenticator app and no passkey, which the codes"
        " would stand for."
    },
)


def _how_many(overview: Overview) -> State:
    left = overview.codes_left
    kind = "" if left else "bad"
    return State(ngettext("%(num)s left", "%(num)s left", left), kind)


class RecoveryCodes(ListForm):
    """Makes a new set of codes, which replaces the old one."""

    account_link = AccountLink(
        SECURITY,
        _("Recovery codes"),
        _("Log in with one of these if you lose your app or your passkey."),
        icon="sheet",
        state=_how_many,
    )
    step = _("Create recovery codes")
    fields = (Flag(_SAVED, "The caller has saved the codes: no new ones are made."),)
    needs_factor = True
    is_sensitive = True
    refusals = (_NO_FACTOR,)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are second factors."""
        return factors.are_offered(settings)

    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return how many codes are left."""
        return {"left": recovery_codes.count(member.user)}

    def act(self, submission: MemberSubmission) -> Response:
        """Replace the codes, and show the new ones, once; or go on once they are saved."""
        user = submission.member.user
        if _SAVED in submission.flags:
            return self._go_on(submission)
        if not submission.site.factors.is_needed_by(user):
            detail = _(
                "Set up an authenticator app or a passkey first. Without one, you need no recovery"
                " codes."
            )
            raise RequestError(HTTPStatus.CONFLICT, "no_second_factor", detail)
        rounds = recovery_codes.rounds_of_site(submission.site.settings)
        with (
            submission.site.hash_slots.slot(Claim(submission.networks)),
            only_once(
                submission,
                _(
                    "These codes have already been created, and are shown only once. If you did"
                    " not save them, create new ones."
                ),
            ),
        ):
            codes = recovery_codes.replace(user, rounds=rounds)
        if submission.wants_json:
            return json_response({"recovery_codes": codes}, status=HTTPStatus.CREATED)
        page = RecoveryCodesPage(
            left=len(codes),
            next=next_after_set_up(submission),
            codes=tuple(codes),
            label=user.label,
            host=submission.environ.get("HTTP_HOST", ""),
            made_at=utc_now(),
        )
        return submission.site.pages.render(submission.environ, page, status=HTTPStatus.CREATED)

    def _admit(self, submission: Submission) -> MemberSubmission:
        """Ask for no recent proof from a user who has written the codes down meanwhile."""
        if _SAVED not in submission.flags:
            return super()._admit(submission)
        member = require_login(submission.environ, submission.site)
        return MemberSubmission(**vars(submission), member=member)

    def _go_on(self, submission: MemberSubmission) -> Response:
        wanted = next_after_set_up(submission)
        if wanted and not submission.wants_json:
            return redirect(HTTPStatus.SEE_OTHER, wanted)
        return self.answer_changed(submission, "account?done=saved")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> RecoveryCodesPage:
        """Return the page without codes, which are not stored."""
        user, site = submission.member.user, submission.site
        set_up_url = mount_url(submission.environ) + site.factors.set_up_path
        done = just_done(submission.environ)
        return RecoveryCodesPage(
            left=recovery_codes.count(user),
            set_up_url="" if site.factors.is_needed_by(user) else set_up_url,
            next=next_after_set_up(submission),
            message=refusal.message,
            once=secrets.token_urlsafe(16),
            added=_ADDED.get(done.word, ""),
            added_name=done.name,
        )
