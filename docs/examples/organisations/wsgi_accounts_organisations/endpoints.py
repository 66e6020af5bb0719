"""The URLs of users: /auth/organisations, and below it an organisation with its forms."""

from wsgiref.types import WSGIEnvironment

from wsgiauth import extend
from wsgiauth.extend import INVALID, MemberSubmission, Refusal, Response, Text, User, _, see_other
from wsgiauth.extend.openapi import THROTTLED

from . import errors, invitations, members
from .memberships import document, memberships_of, require_membership
from .pages import JoinPage, OrganisationPage, OrganisationsPage, view
from .roles import Role
from .settings import count

_NOTICES = {
    "changed": _("The members have been changed."),
    "founded": _("The organisation has been founded. Invite the others now."),
    "invited": _("The invitation is on its way."),
    "joined": _("You are a member now."),
    "left": _("You have left the organisation."),
    "revoked": _("The invitation has been revoked."),
}


def _how_many(overview: extend.Overview) -> extend.State:
    number = len(memberships_of(overview.user))
    return extend.State(extend.ngettext("%(num)s organisation", "%(num)s organisations", number))


class Organisations(extend.ListForm):
    """Lists the organisations of the user, and founds one."""

    account_link = extend.AccountLink(
        *(_("With others"), _("Organisations"), _("Work with others, and decide who can do what.")),
        icon="users",
        state=_how_many,
    )
    fields = (
        Text("name", "For people.", required=True, maxLength=members.NAME_MAX),
        Text("slug", "For URLs and tokens.", required=True, pattern=f"^{members.SLUG}$"),
    )
    refusals = (INVALID, THROTTLED, *map(errors.problem, ("slug_taken", "too_many_organisations")))

    def act(self, submission: MemberSubmission) -> Response:
        """Found an organisation."""
        site, user = submission.site, submission.member.user
        name, slug = (submission.fields[each].strip() for each in ("name", "slug"))
        count(site, "organisations founded", str(user.id))
        members.found(user, name, slug, site.settings)
        return self.answer_changed(submission, f"organisations/{slug}?done=founded")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> OrganisationsPage:
        """Return the list with the form."""
        return OrganisationsPage(
            memberships=memberships_of(submission.member.user),
            name=submission.fields["name"],
            slug=submission.fields["slug"],
            message=refusal.message,
            errors=refusal.errors,
            notice=extend.notice_of(submission.environ, _NOTICES),
        )

    def document(
        self, environ: WSGIEnvironment, member: extend.UserSession, site: extend.Site
    ) -> dict[str, object]:
        """Return the list."""
        return {"organisations": [*map(document, memberships_of(member.user))]}


class OneOrganisation(extend.ListForm):
    """Shows an organisation to its members, and changes who they are."""

    back = extend.BackLink("organisations", _("Back to your organisations"))
    fields = (
        extend.Number("user", "A member, by the id of the user.", minimum=1),
        Text("role", "The new role of the member, or of `email`.", enum=["", *map(str, Role)]),
        Text("email", "An address to invite, without `user`.", examples=["grace@example.org"]),
        extend.Flag("remove", "Removes `user`, who can be the caller."),
        Text("end", "Alone: the `id` of an invitation to revoke."),
    )
    refusals = (
        *(INVALID, THROTTLED, *map(errors.problem, ("forbidden", "no_such_member", "last_owner"))),
        *map(errors.problem, ("already_member", "organisation_full", "no_such_invitation")),
    )
    failures = page_failures = (errors.problem("not_found"),)

    def act(self, submission: MemberSubmission) -> Response:
        """Make the change, and show the organisation; or the others, if the user has left it."""
        slug, user = extend.routing_argument(submission.environ, "slug"), submission.member.user
        done = self._change(submission, slug, user)
        if slug in [each.slug for each in memberships_of(user)]:
            return self.answer_changed(submission, f"organisations/{slug}?done={done}")
        if submission.wants_json:
            return extend.json_response({"detail": _NOTICES["left"]})
        return see_other(submission, "organisations?done=left")

    def _change(self, submission: MemberSubmission, slug: str, actor: User) -> str:
        """Make the change, and return its name in `_NOTICES`."""
        fields, number = submission.fields, submission.fields["user"]
        user_id = int(number) if 1 <= len(number) <= 18 else 0  # a database ends at 64 bits
        if fields["end"]:
            invitations.revoke(slug, actor, fields["end"])
        elif "remove" in submission.flags:
            members.remove(slug, actor, user_id)
        elif number:
            members.change_role(slug, actor, user_id, Role.read(fields["role"]))
        else:
            self._invite(submission, slug, actor)
        return "revoked" if fields["end"] else "changed" if number else "invited"

    def _invite(self, submission: MemberSubmission, slug: str, actor: User) -> None:
        site, email = submission.site, submission.fields["email"]
        role, problem = Role.read(submission.fields["role"]), extend.email_problem(email)
        if problem is not None:
            raise extend.ValidationError({"email": [problem]})
        require_membership(actor, slug).role.require(role)  # count only what can be sent
        count(site, "organisation invitations", str(actor.id))
        count(site, "organisation invitations to an address", email.lower())
        invitations.invite(slug, actor, email, role, site)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> OrganisationPage:
        """Return the page with all forms."""
        slug, member = extend.routing_argument(submission.environ, "slug"), submission.member
        return OrganisationPage(
            view=view(member.user, slug, submission.site),
            viewer_id=member.user.id,
            email=submission.fields["email"],
            role=submission.fields["role"] or Role.MEMBER,
            can_invite=submission.site.outbox is not None,
            message=refusal.text_without("email"),
            errors=refusal.errors,
            notice=extend.notice_of(submission.environ, _NOTICES),
        )

    def document(
        self, environ: WSGIEnvironment, member: extend.UserSession, site: extend.Site
    ) -> dict[str, object]:
        """Return the organisation."""
        return view(member.user, extend.routing_argument(environ, "slug"), site).document()


class Joining(extend.MemberForm):
    """Opens the link of an invitation; a browser without a session is led to the login and back."""

    hides_address = True
    is_navigation = True
    back = OneOrganisation.back
    fields = (Text("token", "The secret in the link.", required=True),)
    failures = page_failures = (errors.problem("link_expired"), errors.problem("other_account"))
    refusals = (errors.problem("too_many_organisations"),)

    def get(self, environ: WSGIEnvironment, site: extend.Site) -> Response:
        """Answer with the page, which has the secret of the link; GET changes nothing."""
        member = self.require_member(environ, site)
        fields = {"token": extend.query_field(environ, "token")}
        submission = MemberSubmission(environ=environ, site=site, member=member, fields=fields)
        return site.pages.render(environ, self.page(submission, Refusal()))

    def act(self, submission: MemberSubmission) -> Response:
        """Join."""
        user = submission.member.user
        slug = invitations.accept(submission.fields["token"], user, submission.site)
        if submission.wants_json:
            return extend.json_response(document(require_membership(user, slug)))
        return see_other(submission, f"organisations/{slug}?done=joined")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> JoinPage:
        """Return the page; raise RequestError for a link that cannot be used."""
        token, now = submission.fields["token"], submission.site.tokens.now()
        row, _secret = invitations.require_offer(token, submission.member.user, now)
        role, message = Role(row.role), refusal.message
        return JoinPage(token=token, name=row.organisation.name, role=role, message=message)
