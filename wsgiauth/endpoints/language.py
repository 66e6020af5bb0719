"""GET, POST /auth/language: the language of the pages, and of the user's emails."""

from contextlib import suppress
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.access import refusal_of
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication.identity import Identity
from wsgiauth.exceptions import ValidationError
from wsgiauth.forms import FormPage, PublicForm, Refusal, Submission, require_own
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.strings import LANGUAGE_TAG
from wsgiauth.web.readers import CHOSEN, LANGUAGE
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import ROUTE, root_url


class LanguagePage(FormPage):
    """The list of languages, which other pages have at their foot."""

    template = "language.html"


class ChooseLanguage(PublicForm):
    """Stores a language of the site in a cookie, and for a user who is logged in.

    Until a login, a second cookie keeps it for the user.
    """

    fields = (Text("language", LANGUAGE_TAG, required=True),)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form; the page does not need the database."""
        return () if method == "get" else super().problems(method)

    def _check_account(self, submission: Submission) -> None:
        """Check only a form with the field: pages of the application can have the form, too."""
        session = submission.site.identifier.identify_anyway(submission.environ).any_session
        if submission.account and session is not None:
            require_own(submission, session.user)

    def act(self, submission: Submission) -> Response:
        """Store the language."""
        environ, site = submission.environ, submission.site
        language = site.pages.readers.languages.find(submission.fields["language"])
        if language is None:
            raise ValidationError({"language": [_("Choose one of the languages of this site.")]})
        identity = site.identifier.identify_anyway(environ)
        member = _member(identity, environ)
        if member is not None:
            with suppress(User.DoesNotExist):  # deleted meanwhile
                user = User.get_by_id(member.id)
                if user.language != language.name:
                    update_user(user, language=language.name)
        cookies = [site.identifier.own_cookie(environ, LANGUAGE, language.name)]
        if member is None and identity.key_id is None:
            cookies.append(site.identifier.own_cookie(environ, CHOSEN, language.name))
        if submission.wants_json:
            return json_response({"language": language.name}, headers=tuple(cookies))
        location = submission.destination or f"{root_url(environ)}/"
        return redirect(HTTPStatus.SEE_OTHER, location, headers=tuple(cookies))

    def page(self, submission: Submission, refusal: Refusal) -> LanguagePage:
        """Return the list."""
        # A refused form leads home: `next` can have the secret of a link.
        destination = "" if refusal.text else submission.destination
        return LanguagePage(message=refusal.text, next=destination)


def _member(identity: Identity, environ: WSGIEnvironment) -> User | None:
    """Return the user of a session, also if it lacks something and reaches this page."""
    lacking, session = identity.lacking, identity.any_session
    if lacking is not None and environ[ROUTE] not in refusal_of(lacking, environ).reachable:
        return None
    return None if session is None else session.user
