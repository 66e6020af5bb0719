"""The demand that each user has signed the library card, and its page."""

from http import HTTPStatus

import peewee
from shelves.tables import LibraryCard

from wsgiauth.extend import Demand, Problem, UnmetDemandError, User, _

_PAGE = "/shelf"


class Card(Demand):
    """Each user has a library card."""

    error = "card_required"
    keyword = "card"
    page = _PAGE
    problem = Problem("CardRequired", 403, {error: "The user must first have a card."})

    def columns(self, proof):
        """Return whether the user has it."""
        rows = LibraryCard.select().where(LibraryCard.user == User.id)
        return (peewee.fn.EXISTS(rows),)

    def is_met(self, user, values):
        """Return whether the user has it."""
        return bool(values[0])

    def refusal(self, user, environ):
        """Return the error."""
        return UnmetDemandError(
            HTTPStatus.FORBIDDEN,
            self.error,
            _("Get your library card first."),
            page=_PAGE,
            reachable=(_PAGE, "/logout"),
        )

    def arrange(self, user, session, *, is_met):
        """Let the user have it, or not."""
        if is_met:
            LibraryCard.insert(user=user).on_conflict_ignore().execute()
        else:
            LibraryCard.delete().where(LibraryCard.user == user).execute()
