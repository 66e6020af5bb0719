"""GET, POST /auth/shelf: the books of a user."""

from shelves.tables import MAX_TITLE, lend, titles

from wsgiauth.extend import (
    SECURITY,
    AccountLink,
    FormPage,
    ListForm,
    Text,
    UrlBelow,
    ValidationError,
    _,
)


class ShelfPage(FormPage):
    """The books, and the form to borrow another one."""

    template = "shelves.html"
    shelf_url = UrlBelow("shelf")
    logout_url = UrlBelow("logout")
    tidy_url = UrlBelow("shelf/tidy")
    titles = ()
    overdue = 0


class Shelf(ListForm):
    """Lends a book."""

    account_link = AccountLink(SECURITY, _("Your shelf"), _("The books that you have."))
    fields = (
        Text("title", "The title of a book.", required=True),
        Text("code", "The code on the library card."),
    )

    def act(self, submission):
        """Lend it."""
        title = submission.fields["title"]
        if not title.isprintable() or not 0 < len(title) <= MAX_TITLE:
            raise ValidationError({"title": [_("Enter the title of a book.")]})
        lend(submission.member.user, title)
        return self.answer_changed(submission, "shelf")

    def page(self, submission, refusal):
        """Return the page."""
        return ShelfPage(
            titles=titles(submission.member.user),
            next=submission.destination,
            message=refusal.text,
            errors=refusal.errors,
        )

    def document(self, environ, member, site):
        """Return the titles."""
        return {"titles": titles(member.user)}
