"""The declaration of the feature."""

from dataclasses import dataclass
from pathlib import Path

from shelves.card import Card
from shelves.shelf import Shelf, ShelfPage
from shelves.tables import BOOK_LENT, Book, own_books, own_cards
from shelves.tidy import Tidy

from wsgiauth.extend import Command, Feature, FeatureSettings, Letter, Records, _, switch


@dataclass(frozen=True, kw_only=True)
class ShelfSettings(FeatureSettings):
    """The settings."""

    SHELVES_CARD: bool = switch(False, "whether users need a library card")


class DueLetter(Letter):
    """Asks for a book."""

    template = "mail/shelves_due.txt"
    title: str


FEATURE = Feature(
    name="shelves",
    settings=ShelfSettings,
    folder=Path(__file__).parent,
    urls={"/shelf": Shelf(), "/shelf/tidy": Tidy()},
    demands=lambda settings: [Card()] if settings.SHELVES_CARD else [],
    pages=lambda: [
        ShelfPage(titles=["Emma"], overdue=3, message="Taken."),
        ShelfPage(errors={"title": [_("Enter the title of a book.")]}),
    ],
    letter_samples=(DueLetter(title="Emma"),),
    events=(BOOK_LENT,),
    headlines={Card.error: _("Get your library card")},
    personal_data={
        "shelves_book": Records("books", own_books),
        "shelves_card": Records("library_cards", own_cards),
    },
    expiring={"book": Book},
    commands={
        "books": Command("shelves.commands", "count the books that are lent"),
        "shelves": Command("shelves.commands", "manage the shelves"),
    },
    openapi="shelves.openapi",
)
