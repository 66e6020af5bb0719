"""The base classes of URLs with a form: parse, act, and answer as JSON or as a page.

A program sends JSON and gets JSON. A script of this site sends a form and asks for JSON. A browser
sends a form and gets a page or a redirect.

Each function of this room that uses the database raises `peewee.DatabaseError` if it fails.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import chain
from typing import ClassVar, Generic, TypeVar
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import typed
from wsgiauth.authentication.identity import UserSession
from wsgiauth.events import actors
from wsgiauth.exceptions import RequestError, UnauthenticatedError, ValidationError
from wsgiauth.forms.done import done_cookies
from wsgiauth.forms.endpoint import (
    Endpoint,
    problems_of_session,
    require_fresh,
    require_login,
    require_same_origin,
)
from wsgiauth.forms.fields import (
    SECRETS,
    Flag,
    Input,
    Number,
    Numbers,
    Text,
    Texts,
    named,
    offered,
)
from wsgiauth.forms.repeated import answered_cookie, is_repeated
from wsgiauth.forms.shown_to import ACCOUNT, require_shown_to
from wsgiauth.messages import Joined
from wsgiauth.openapi.answers import Answer, Problem, Scheme
from wsgiauth.openapi.callers import SESSION
from wsgiauth.openapi.problems import BUSY, INVALID, NOT_FRESH, OF_BODY, UNAVAILABLE
from wsgiauth.site import Site
from wsgiauth.web.failures import SENT_FIELDS
from wsgiauth.web.pages import Page
from wsgiauth.web.request import (
    JSON,
    asks_for_json,
    content_type,
    flag_field,
    list_fields,
    number_field,
    prefers_html,
    query_field,
    read_form,
    read_json,
    text_field,
)
from wsgiauth.web.responses import Header, Response, json_response, problem, redirect
from wsgiauth.web.urls import mount_url, origin_of, path_asked_for, path_below, safe_next, with_next

NEXT = "next"  # in the query and in forms: where the browser goes afterwards
ONCE = "once"  # in forms: a random string, see `once`
SENT = "sent"  # likewise, of the script; see `repeated`
TOKEN = "token"  # noqa: S105 - in the query and in forms: the secret of a link

_TYPED_NAMES = ("username", "email")  # in every form, of an account


@dataclass(frozen=True, kw_only=True)
class Submission:
    """The fields of a form, and how they were sent.

    Attributes:
        fields: The strings that the form declares, empty if they are missing; a whole number is the
            string of its digits. A name has no spaces around it, see `names.typed`.
        flags: The booleans that the form declares and that are true.
        destination: `next` of the request if it is safe, otherwise an empty string; see
            `web.urls.Destinations`.
        once: A random string that identifies this form; see `repeated`.
        sent: Likewise, of the script.
        account: The account that the page was shown to; see `shown_to`.
        networks: See `clients.Clients.networks`.
        is_program: Whether the body is JSON, which no browser sends by itself.
        wants_json: Whether the client gets JSON instead of pages.

    Example:
        def name_in(submission: Submission) -> str:
            return submission.fields["name"]
    """

    environ: WSGIEnvironment = field(repr=False)  # has credentials
    site: Site
    fields: Mapping[str, str] = field(repr=False)  # have passwords
    lists: Mapping[str, list[str]] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    destination: str = ""
    once: str = ""
    sent: str = ""
    account: str = ""
    networks: tuple[str, ...] = ()
    is_program: bool = False
    wants_json: bool = False


@dataclass(frozen=True, kw_only=True)
class MemberSubmission(Submission):
    """The fields of a `MemberForm`, and the user who sent them.

    Example:
        def owner_of(submission: MemberSubmission) -> User:
            return submission.member.user
    """

    member: UserSession


class FormPage(Page):
    """A page with a form.

    Example:
        class NewBadgePage(FormPage):
            template = "badges_new.html"
            badges_url = UrlBelow("badges")
            name: str = ""
    """

    typed: ClassVar[tuple[str, ...]] = ()  # the fields of its main form, in their order

    message: str = ""  # why the form was refused
    errors: Mapping[str, list[str]] = {}  # by field
    notice: str = ""  # about the last change
    next: str = ""  # where to go afterwards: see `Submission.destination`
    once: str = ""  # see `once`

    @property
    def is_refused(self) -> bool:
        """Whether the form was refused."""
        return bool(self.message or self.errors)

    @property
    def inputs(self) -> dict[str, str]:
        """The values in the fields of its main form, in their order."""
        return {name: getattr(self, name, "") for name in self.typed}

    @property
    def focused(self) -> str:
        """The field with the cursor, which is the first wrong or else the first empty one."""
        inputs = self.inputs
        wrong = [name for name in inputs if name in self.errors]
        empty = [name for name, value in inputs.items() if not value]
        return next(iter((*wrong, *empty, *inputs)), "")


Sent = TypeVar("Sent", bound=Submission)


@dataclass(frozen=True)
class Refusal:
    """Why a form is shown again.

    Example:
        Refusal(errors={"name": ["There is no such badge."]}).text == "There is no such badge."
    """

    message: str = ""  # about the whole form
    errors: Mapping[str, list[str]] = field(default_factory=dict)  # by field

    @property
    def text(self) -> str:
        """All messages in one paragraph."""
        return self.text_without()

    def text_without(self, *fields: str) -> str:
        """Return the messages, except of fields that show their own, in one paragraph."""
        others = (each for name, each in self.errors.items() if name not in fields)
        return Joined(filter(None, (self.message, *chain.from_iterable(others))))


class Form(Endpoint, Generic[Sent]):
    """A URL whose GET shows a form and whose POST takes it, or the same fields as JSON.

    A subclass declares its fields. Others are ignored, so that no client can set more.

    Attributes:
        fields: Its fields.
        refusals: What `act` refuses, for the OpenAPI document: a browser sees the page again, with
            the reason. A form that calls `Site.attempt` has `(INVALID, THROTTLED)`, the latter of
            `wsgiauth.extend.openapi`.
        failures: How a POST fails before `act`: a browser sees an error page.
        page_failures: How a request for the page fails.
        leads_elsewhere: Whether it leads to another site, which only its own page admits.
    """

    fields: ClassVar[tuple[Input, ...]] = ()
    refusals: tuple[Problem, ...] = (INVALID,)
    page_failures: ClassVar[tuple[Problem, ...]] = ()
    leads_elsewhere: ClassVar[bool] = False

    @abstractmethod
    def act(self, submission: Sent) -> Response:
        """Do what the form asks for, and answer as the client prefers (`wants_json`).

        After a ValidationError or a RequestError, the form is shown again.
        """

    @abstractmethod
    def page(self, submission: Sent, refusal: Refusal) -> Page:
        """Return the page with the form, as it was sent and with the reason if it was refused."""

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the names of the fields that hold strings; a site can have more than `fields`."""
        return named(offered(self.fields, site.settings), Text)

    def from_json(self, sent: dict[str, object], site: Site) -> dict[str, object]:
        """Return the members of a JSON object as a form would have sent them."""
        return site.registration.from_json(sent)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page."""
        destination = site.destinations.safe(query_field(environ, NEXT))
        empty = Submission(
            environ=environ,
            site=site,
            fields=dict.fromkeys((*self.strings(site), *named(self.fields, Number)), ""),
            lists={name: [] for name in named(self.fields, Texts)},
            destination=destination,
        )
        return site.pages.render(environ, self.page(self._admit(empty), Refusal()))

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Take the form; show it again if it is refused."""
        parsed = self._parse(environ, site)
        environ.get(SENT_FIELDS, []).extend(self._kept(parsed))
        if is_repeated(environ, site, parsed.sent):
            return see_other(parsed, page_of(parsed))
        self._check_account(parsed)  # before a proof is asked for
        response = self._answer(self._admit(parsed))
        if response.status in (HTTPStatus.SEE_OTHER, HTTPStatus.CREATED):  # the latter has `once`
            return response
        cookie = answered_cookie(environ, site, parsed.sent)
        return replace(response, headers=(*response.headers, *cookie))

    def _answer(self, submission: Sent) -> Response:
        try:
            return self.act(submission)
        except UnauthenticatedError:
            raise  # the session ended meanwhile, and the form needs another one
        except ValidationError as error:
            return self._refused(submission, error, Refusal(errors=error.errors))
        except RequestError as error:
            refusal = Refusal(error.detail, error.errors)
            return self._refused(submission, error, refusal, error.headers)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return the failures of the body, and of a site that hashes too many passwords."""
        if method == "get":
            return (*self.page_failures, UNAVAILABLE)
        return (*OF_BODY, *super().problems(method), BUSY)

    @abstractmethod
    def _admit(self, submission: Submission) -> Sent:
        """Return the submission with its sender, if the form needs one, or refuse it."""

    def _check_account(self, submission: Submission) -> None:
        """Raise RequestError for a form that was shown to another account."""

    def _parse(self, environ: WSGIEnvironment, site: Site) -> Submission:
        networks = site.clients.networks(environ)
        site.hash_slots.require_patience(networks)
        is_program = content_type(environ) == JSON
        if not is_program:
            require_same_origin(environ, site)
        wants_json = is_program or asks_for_json(environ)
        lists, int_lists = named(self.fields, Texts), named(self.fields, Numbers)
        sent = read_json(environ) if is_program else read_form(environ, lists + int_lists)
        strings = self.from_json(sent, site) if is_program else sent
        fields = {name: text_field(strings, name) for name in self.strings(site)}
        fields |= {name: typed(fields[name]) for name in _TYPED_NAMES if name in fields}
        for name in named(self.fields, Number):
            fields[name] = number_field(sent, name, is_json=is_program)
        return Submission(
            environ=environ,
            site=site,
            fields=fields,
            lists=list_fields(sent, lists, int_lists, is_json=is_program),
            flags=frozenset(name for name in named(self.fields, Flag) if flag_field(sent, name)),
            destination="" if is_program else site.destinations.safe(text_field(sent, NEXT)),
            once="" if is_program else text_field(sent, ONCE),
            sent="" if wants_json else text_field(sent, SENT),
            account="" if is_program else text_field(sent, ACCOUNT),
            networks=networks,
            is_program=is_program,
            wants_json=wants_json,
        )

    def _kept(self, submission: Submission) -> list[tuple[str, str]]:
        """Return the fields for a page that sends the form again; none if that is not possible.

        A secret is in no page. A `next` below /auth or at another host can lead the browser to
        another site, which only the policy of the page with the form admits.
        """
        fields, destination = submission.fields, submission.destination
        mount = mount_url(submission.environ)
        is_led_on = bool(origin_of(destination) or path_below(destination, mount))
        if self.leads_elsewhere or is_led_on or any(map(fields.get, SECRETS)):
            return []
        kept = [
            *fields.items(),
            *((name, str(each)) for name, chosen in submission.lists.items() for each in chosen),
            *((name, "on") for name in sorted(submission.flags)),
            (NEXT, destination),
            (ONCE, submission.once),
            (ACCOUNT, submission.account),
        ]
        return [(name, value) for name, value in kept if value]

    def _refused(
        self,
        submission: Sent,
        error: ValidationError | RequestError,
        refusal: Refusal,
        headers: tuple[Header, ...] = (),
    ) -> Response:
        if submission.wants_json:
            further = error.members if isinstance(error, RequestError) else None
            return problem(
                error.status,
                error.code,
                error.detail,
                errors=refusal.errors,
                further=further,
                headers=headers,
            )
        page, status = self.page(submission, refusal), HTTPStatus(error.status)
        pages = submission.site.pages
        return pages.render(submission.environ, page, status=status, headers=headers)


def require_own(submission: Submission, user: User | None, *, identity_id: str = "") -> None:
    """Call `require_shown_to`, unless it is JSON, or a script's form without the field."""
    if submission.is_program or (submission.wants_json and not submission.account):
        return
    require_shown_to(
        user, submission.account, submission.site, page=page_of(submission), identity_id=identity_id
    )


def page_of(submission: Submission) -> str:
    """Return the path, below the mount, of the page with the form that was sent."""
    environ, token = submission.environ, submission.fields.get(TOKEN, "")
    path = safe_next(path_asked_for(environ), "").removeprefix(f"{mount_url(environ)}/")
    page = with_next(path, submission.destination)
    return f"{page}{'&' if '?' in page else '?'}{urlencode({TOKEN: token})}" if token else page


class PublicForm(Form[Submission]):
    """A form for everyone; see `wsgiauth.forms.Form` and `Endpoint` for its attributes.

    Example:
        class Greet(PublicForm):
            fields = (Text("name", "Who is greeted.", required=True),)

            def act(self, submission: Submission) -> Response:
                name = submission.fields["name"]
                return json_response({"detail": _("Hello %(name)s", name=name)})

            def page(self, submission: Submission, refusal: Refusal) -> BadgesPage:
                return BadgesPage(message=refusal.text)
    """

    def _admit(self, submission: Submission) -> Submission:
        return submission


class MemberForm(Form[MemberSubmission]):
    """A form for users who are logged in; others are asked to log in.

    See `wsgiauth.forms.Form` and `Endpoint` for its attributes.

    Example:
        class TakeBadge(MemberForm):
            fields = (Text("name", "The badge.", required=True),)

            def act(self, submission: MemberSubmission) -> Response:
                Badge.create(user=submission.member.user, name=submission.fields["name"])
                return see_other(submission, "badges")

            def page(self, submission: MemberSubmission, refusal: Refusal) -> BadgesPage:
                return BadgesPage(message=refusal.message, errors=refusal.errors)
    """

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of every form, and those of the session."""
        of_session = problems_of_session(method, is_fresh=self.is_sensitive)
        return (*super().problems(method), *of_session)

    def security(self, method: str) -> tuple[Scheme | None, ...]:
        """Return the schemes of a session."""
        return SESSION

    def require_member(self, environ: WSGIEnvironment, site: Site) -> UserSession:
        """Return the user who sent a request, and their session, if they can use the form."""
        require = require_fresh if self.is_sensitive else require_login
        return require(environ, site)

    def _check_account(self, submission: Submission) -> None:
        session = submission.site.identifier.identify_anyway(submission.environ).any_session
        if session is not None:
            actors.identify(session.user.id)
            require_own(submission, session.user)

    def _admit(self, submission: Submission) -> MemberSubmission:
        member = self.require_member(submission.environ, submission.site)
        return MemberSubmission(**vars(submission), member=member)


class ListForm(MemberForm):
    """A form on a page with a list; programs get the list as JSON.

    Example:
        class ListedBadges(ListForm):
            def act(self, submission: MemberSubmission) -> Response:
                return self.answer_changed(submission, "badges")

            def page(self, submission: MemberSubmission, refusal: Refusal) -> BadgesPage:
                return BadgesPage(message=refusal.text)

            def document(
                self, environ: WSGIEnvironment, member: UserSession, site: Site
            ) -> dict[str, object]:
                of_user = Badge.select().where(Badge.user == member.user.id)
                return {"badges": [each.name for each in of_user]}
    """

    @abstractmethod
    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return the list, ready for JSON."""

    def require_reader(self, environ: WSGIEnvironment, site: Site) -> UserSession:
        """Return the user who asks for the list as JSON, which needs no recent proof."""
        return require_login(environ, site)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form; the list as JSON needs no recent proof."""
        found = super().problems(method)
        return tuple(each for each in found if each is not NOT_FRESH or method != "get")

    def answer_changed(
        self, submission: MemberSubmission, page: str, *headers: Header, name: str = ""
    ) -> Response:
        """Answer with the changed list, or send the browser to a page; see `see_other`."""
        if submission.wants_json:
            sent = (submission.environ, submission.member, submission.site)
            return json_response(self.document(*sent), headers=headers)
        return see_other(submission, page, *headers, name=name)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the list as JSON."""
        if prefers_html(environ):
            return super().get(environ, site)
        member = self.require_reader(environ, site)
        return json_response(self.document(environ, member, site))


def email_accepted(submission: Submission, detail: str, page: Page, *headers: Header) -> Response:
    """Answer 202, whether there is an email to send or not."""
    status, pages = HTTPStatus.ACCEPTED, submission.site.pages
    if submission.wants_json:
        return json_response({"detail": detail}, status=status, headers=headers)
    return pages.render(submission.environ, page, status=status, headers=headers)


def see_other(submission: Submission, page: str, *headers: Header, name: str = "") -> Response:
    """Send a browser to a page below the mount; for a query with `done` and `name`, see `done`.

    Example:
        response = see_other(submission, "badges?done=given")
    """
    location = f"{mount_url(submission.environ)}/{page}"
    done = done_cookies(submission.environ, location, name)
    return redirect(HTTPStatus.SEE_OTHER, location, headers=(*headers, *done))
