"""The rules for features of others: a copy of the feature `shelves` that breaks one is found."""

import importlib
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.catalogues import translated
from tests.testing.findings import lines
from wsgiauth.feature import Feature

SHELVES = Path(__file__).with_name("shelves")
ON = {"SHELVES_CARD": True}
GERMAN = {
    "Book lent": "Buch verliehen",
    "Enter the title of a book.": "Gib den Titel eines Buches ein.",
    "Get your library card first.": "Hol dir zuerst deinen Ausweis.",
    "Get your library card": "Hol dir deinen Ausweis",
    "Your shelf": "Dein Regal",
    "The books that you have.": "Die Bücher, die du hast.",
    "Title": "Titel",
    "Borrow": "Ausleihen",
    ("Delete %(num)s book", "Delete %(num)s books"): (
        "%(num)s Buch löschen",
        "%(num)s Bücher löschen",
    ),
    "Your book is due": "Dein Buch ist fällig",
    "Please bring %(title)s back.": "Bring bitte %(title)s zurück.",
}


def copy(parent, patch, *edits, german=GERMAN):
    """Return an edited copy of the feature.

    Args:
        edits: Each the name of a file, and what is replaced by what in it; "" in a new file.
        german: The German catalogue.
    """
    folder = parent / "shelves"
    shutil.copytree(SHELVES, folder)
    translated(folder / "locale", "de", *german.items(), domain="shelves")
    for name, old, new in edits:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text() if old else ""
        assert old in text, (name, old)
        path.write_text(text.replace(old, new))
    patch.syspath_prepend(parent)
    for name in [each for each in sys.modules if each.partition(".")[0] == "shelves"]:
        patch.delitem(sys.modules, name)
    return importlib.import_module("shelves.feature").FEATURE


@pytest.fixture
def shelves(tmp_path, monkeypatch):
    """Return `copy` into the folder of a test."""
    return partial(copy, tmp_path, monkeypatch)


def fill(application, user):
    """Let a user have a book and a library card."""
    tables = sys.modules["shelves.tables"]
    tables.lend(user, "Emma")
    tables.LibraryCard.insert(user=user).on_conflict_ignore().execute()
    return {}


def test_a_feature_that_keeps_the_rules_passes(shelves):
    assert lines(shelves(), ON, fill=fill) == []


def test_a_feature_that_adds_little_passes_also_without_emails():
    assert lines(Feature(name="quiet"), {"MAIL_URL": None}) == []


def test_a_table_that_stays_empty_is_found(shelves):
    found = lines(shelves(), fill=lambda application, user: {})
    tables = ("shelves_book", "shelves_card")
    assert found == [f"tables: {table}: `fill` inserts no row" for table in tables]


def test_a_translation_without_its_placeholder_is_found(shelves):
    wrong = {"Please bring %(title)s back.": "Bring es zurück."}
    (found,) = lines(shelves(german={**GERMAN, **wrong}), ON)
    assert found.startswith("declaration: the start of a site with shelves: FEATURES: ")
    assert "lacks %(title)s" in found


def test_a_language_without_a_catalogue_is_found_if_it_is_asked_for(shelves):
    found = lines(shelves(), ON, languages=["fr"])
    assert "languages: shelves.html: translate 'Borrow' to fr, without the mark fuzzy" in found
    assert all(" to fr, " in each for each in found)


def test_the_named_parts_of_paths_are_those_of_fill(shelves):
    login = "        require_login(environ, site)\n"
    feature = shelves(
        ("feature.py", '"/shelf/tidy"', '"/shelf/{state}"'),
        ("tidy.py", login, f'{login}        assert environ["PATH_INFO"] != "/shelf/overdue"\n'),
    )
    found = lines(feature, fill=lambda application, user: {"state": "overdue"})
    assert "endpoints: GET /shelf/{state}: to a user, it raises AssertionError: " in found


class Edit(NamedTuple):
    """What one edit of the feature breaks."""

    change: tuple[str, str, str]
    expected: tuple[str, ...]
    id: str
    copy: int


def edit(file, old, new, *expected, id, copy=0):
    """Return a case; those with one `copy` do not disturb each other, and share 0.3 seconds."""
    return Edit((file, old, new), expected, id, copy)


MAIL = "outbox=None, user=submission.member.user, data={}"
EDITS = (
    edit(
        "templates/shelves.html",
        "{% block content %}",
        "{% block content %}{{ page.message|safe }}",
        "pages: shelves.html: show values as text: one of the page becomes HTML, as by the filter"
        " safe",
        id="a value that becomes HTML",
    ),
    edit(
        "tidy.py",
        "        require_same_origin(environ, site)\n",
        "",
        "endpoints: POST /shelf/tidy: it accepts a form from another site: call"
        " `require_same_origin`",
        id="a form from another site",
    ),
    edit(
        "shelf.py",
        "        if not title",
        '        __import__("logging").warning(submission.fields["code"])\n        if not title',
        "endpoints: the log: do not log what users type: planted secret",
        id="a secret in the log",
    ),
    edit(
        "__init__.py",
        '"""',
        "# ",
        "declaration: __init__.py: begin the package with a docstring that says what the feature"
        " does",
        id="a package without a docstring",
    ),
    edit(
        "tables.py",
        '"shelves_lent"',
        '"Book lent"',
        "declaration: Book lent: name it by at most 32 characters, as badges_given",
        "declaration: Book lent: let the name of the event begin with shelves_",
        id="the name of an event",
    ),
    edit(
        "shelf.py",
        '_("Your shelf")',
        '"Your shelf"',
        "declaration: the link to /shelf: mark 'Your shelf' for translation, as in _('Your shelf')",
        id="words that are not marked",
    ),
    edit(
        "migrations/0001_books.py",
        "max_length=80, null=True",
        "max_length=90, null=True",
        "tables: shelves_book: the migrations do not make the column note VARCHAR(80), which the",
        "tables: shelves_book: the model does not have the column note VARCHAR(90), which the",
        id="a column of another type",
    ),
    edit(
        "migrations/0001_books.py",
        'on_delete="CASCADE", index=True',
        "index=False",
        "tables: shelves_book: user_id needs ON DELETE CASCADE or SET NULL",
        "tables: shelves_book: the foreign key user_id needs an index that begins with it",
        id="a foreign key without an index, and rows that outlive their user",
    ),
    edit(
        "feature.py",
        '"shelves_book": Records("books", own_books),',
        "",
        "tables: shelves_book: it has rows of a user: add it to `personal_data`",
        id="a table that is not in the file of a person",
    ),
    edit(
        "feature.py",
        'expiring={"book": Book},',
        "",
        "tables: shelves_book: its rows have expires_at: add the model to `expiring`",
        id="rows that are never purged",
    ),
    edit(
        "migrations/0001_books.py",
        "BigIntegerField(index=True)",
        "BigIntegerField()",
        "tables: shelves_book: purging needs an index that begins with expires_at",
        id="an expiry without an index",
    ),
    edit(
        "templates/shelves.html",
        "<ul role",
        '<ul onclick="x()" style="color: red" role',
        "pages: shelves.html: the Content-Security-Policy blocks the style or handler of <ul"
        ' onclick="x()" role="list" style="color: red">',
        id="what the policy blocks",
    ),
    edit(
        "templates/shelves.html",
        '<input type="hidden" name="account" value="{{ page.shown_to }}">',
        "",
        "forms: shelves.html: the form to /shelf needs the hidden field account",
        id="a form without the account",
    ),
    edit(
        "shelf.py",
        '        title = submission.fields["title"]\n',
        '        title = submission.fields["title"]\n        assert title.isprintable()\n',
        "endpoints: POST /shelf: with 'a\\x00b' in the field title, it raises AssertionError:",
        id="an exception",
    ),
    edit(
        "shelf.py",
        "        return ShelfPage(\n",
        "        lend(submission.member.user, 'x')\n        return ShelfPage(\n",
        "endpoints: GET /shelf: it changes rows, which only a POST should do",
        id="a GET that changes rows",
    ),
    edit(
        "openapi.py",
        '"borrowBook"',
        '"showShelf"',
        "document: GET /shelf: give it a unique id such as showBadge, instead of 'showShelf'",
        "document: POST /shelf: give it a unique id such as showBadge, instead of 'showShelf'",
        id="an id twice",
    ),
    edit(
        "openapi.py",
        '"Borrow a book"',
        '"Borrow a book."',
        "document: POST /shelf: end the summary without a full stop",
        id="a summary",
    ),
    edit(
        "openapi.py",
        '"It stays on the shelf for a month."',
        '"a month"',
        "document: POST /shelf: write the description as sentences, instead of 'a month'",
        id="a description that is no sentence",
    ),
    edit(
        "commands.py",
        "--title Middlemarch",
        "--name Middlemarch",
        "commands: books: the example `wsgiauth books --name Middlemarch` is refused:"
        " unrecognized arguments",
        id="an example that is refused",
    ),
    edit(
        "shelf.py",
        "class Shelf(ListForm):",
        "class Shelf(ListForm):\n    refusals = ()",
        "document: POST /shelf: it answers 422 application/problem+json, which is not described",
        id="a refusal that is not described",
    ),
    edit(
        "templates/shelves.html",
        '{{ _("Borrow") }}',
        "Take one",
        "languages: shelves.html: mark these words of the page for translation: Take one",
        id="words of a page that are not marked",
    ),
    edit(
        "templates/shelves.html",
        '_("Title")',
        '_("The title")',
        "languages: shelves.html: translate 'The title' to de",
        id="a sentence of a template that is not translated",
    ),
    edit(
        "shelf.py",
        "Enter the title of a book.",
        "Enter a title.",
        "languages: shelf.py: translate 'Enter a title.' to de",
        id="a sentence of a module that is not translated",
    ),
    edit(
        "feature.py",
        '"count the books that are lent"',
        '"Counts the books."',
        "commands: books: begin its help with a verb in lower case, without a full stop: 'Counts",
        id="the help of a command",
    ),
    edit(
        "commands.py",
        ', help="count this book alone"',
        "",
        "commands: books: give the argument title a help",
        id="an argument without help",
    ),
    edit(
        "templates/other.html",
        "",
        '{% extends "layout.html" %}<a href="/auth/shelf">',
        "declaration: other.html: let the name of the template begin with shelves",
        "pages: other.html: let a `UrlBelow` of the page make the URL, instead of /auth/",
        id="the name of a template, and a URL in it",
    ),
    edit(
        "tables.py",
        "import time\n",
        "import time\n\nimport wsgiauth\nimport wsgiauth.web\n"
        "from wsgiauth import AuthMiddleware, accounts\n"
        "from wsgiauth.web.urls import overlap\n",
        "declaration: tables.py: import from wsgiauth.extend instead of wsgiauth.web, which is"
        " internal",
        "declaration: tables.py: import from wsgiauth.extend instead of wsgiauth.accounts, which",
        "declaration: tables.py: import from wsgiauth.extend instead of wsgiauth.web.urls, which",
        id="imports that are not public",
    ),
    edit(
        "locale/fr/LC_MESSAGES/shelves.po",
        "",
        "",
        "languages: fr/LC_MESSAGES/shelves.po: compile it, as by `pybabel compile`",
        id="a catalogue that is not compiled",
    ),
    edit(
        "migrations/0001_books.py",
        "        note = peewee.CharField(max_length=80, null=True)\n",
        "",
        "tables: shelves_book: the migrations do not make the column note VARCHAR(80), which",
        id="a column that no migration makes",
        copy=1,
    ),
    edit(
        "tables.py",
        "    note = peewee.CharField(max_length=MAX_TITLE, null=True)\n",
        "",
        "tables: shelves_book: the model does not have the column note VARCHAR(80), which the",
        id="a column that the model lacks",
        copy=2,
    ),
    edit(
        "migrations/0002_place.py",
        "",
        "import peewee\nfrom playhouse.migrate import migrate\n\n\n"
        "def up(migrator, db):\n"
        '    if "place" not in [each.name for each in db.get_columns("shelves_book")]:\n'
        '        place = peewee.CharField(default="")\n'
        '        migrate(migrator.add_column("shelves_book", "place", place))\n',
        "tables: 0002_place: let place be null=True: the version before inserts rows, too",
        "tables: shelves_book: the model does not have the column place VARCHAR(255) NOT NULL",
        id="a new column in which each row needs a value",
        copy=1,
    ),
    edit(
        "migrations/0001_more.py",
        "",
        "def up(migrator, db):\n    pass\n",
        "tables: 0001_more: give it another number than 0001_books",
        id="two migrations with one number",
        copy=1,
    ),
    edit(
        "shelf.py",
        "        lend(",
        "        from wsgiauth import extend\n\n"
        f'        extend.enqueue(None, "shelves_due", user=None, data={{}})\n'
        f'        extend.enqueue(kind="_".join(("shelves", "late")), {MAIL})\n'
        "        lend(",
        "emails: shelf.py: add the composer of 'shelves_due' to `composers`",
        "emails: the outbox: add the composer of 'shelves_late' to `composers`",
        id="emails without composers",
        copy=2,
    ),
    edit(
        "templates/shelves.html",
        "{{ page.logout_url }}",
        "{{ page.shelf_url }}",
        "demands: card_required: its page /auth/shelf is all that its user reaches: add a form to"
        " /auth/logout",
        id="a page of a demand from which a user cannot log out",
        copy=2,
    ),
    edit(
        "shelf.py",
        "            next=submission.destination,\n",
        "",
        "demands: card_required: its form must send the field next, with",
        id="a page of a demand that forgets where it leads",
        copy=2,
    ),
    edit(
        "shelf.py",
        "        lend(",
        '        if title == "all":\n'
        "            from wsgiauth.extend import RequestError\n\n"
        "            submission.site.attempt(None, title)\n"
        '            raise RequestError(409, "shelf_full", _("Your shelf"))\n'
        "        lend(",
        "document: shelf.py: describe the code shelf_full in a `Problem`",
        "document: shelf.py: describe the 429 of a `Limit` by THROTTLED in `refusals`",
        id="failures that are not described",
        copy=2,
    ),
    edit(
        "shelf.py",
        '_("The books that you have."))',
        '_("The books that you have."), state=lambda overview: 1 / 0)',
        "left out: a function of shelves ",
        id="a state of the account page that raises",
        copy=1,
    ),
    edit(
        "feature.py",
        "FEATURE = Feature(",
        "from wsgiauth.extend import Question\n\nFEATURE = Feature(\n"
        '    questions=(Question(lambda site: 1 / 0), Question(lambda site: ["no"])),\n',
        "left out: a function of shelves ",
        "declaration: a question of `check`: yield a `Finding`, instead of 'no'",
        id="questions that raise, or yield something else",
        copy=2,
    ),
    edit(
        "commands.py",
        "    command = ",
        "    command = = ",
        "declaration: shelves: SyntaxError: invalid syntax (commands.py, line 10)",
        id="a module with an error of syntax",
        copy=3,
    ),
    edit(
        "commands.py",
        '"books", print',
        '"book", print',
        "commands: shelves.commands: `commands` lack a command that the module adds: ",
        id="another name of a command",
        copy=1,
    ),
    edit(
        "shelf.py",
        '_("Enter the title of a book.")',
        '"Enter a title."',
        "languages: shelf.py: mark 'Enter a title.' for translation, as in _('Enter a title.')",
        id="a sentence of a module that is not marked",
        copy=1,
    ),
    edit(
        "shelf.py",
        '        Text("code", "The code on the library card."),\n    )\n\n'
        '    def act(self, submission):\n        """Lend it."""\n',
        '        Text("code", "The code on the library card."),\n'
        '        __import__("wsgiauth").extend.Number("count", "How many.", required=True),\n'
        '    )\n\n    def act(self, submission):\n        int(submission.fields["count"])\n',
        "endpoints: POST /shelf: to {} as JSON, it raises ValueError: invalid literal for int()",
        "endpoints: POST /shelf: to an empty form, it raises ValueError: invalid literal for int()",
        "document: POST /shelf: the example lacks 'count', which is required",
        id="a number that is not sent",
        copy=2,
    ),
    edit(
        "shelf.py",
        "        if not title",
        '        if code := submission.fields["code"]:\n'
        '            raise ValidationError({"code": [f"{code} is wrong."]})\n'
        "        if not title",
        "endpoints: POST /shelf: to a user, it repeats what a user types into the field of a"
        " secret",
        id="a secret on a page",
        copy=3,
    ),
    edit(
        "tables.py",
        "Book.select().where(Book.user == user)",
        "Book.select()",
        "tables: shelves_book: its `Records` list rows of another user",
        id="rows of another user",
        copy=2,
    ),
    edit(
        "commands.py",
        "    command = ",
        '    raise ValueError("no")\n    command = ',
        "commands: shelves: ValueError: no: nothing more was checked of this",
        id="an exception while a rule is tried",
        copy=2,
    ),
    edit(
        "migrations/0001_books.py",
        "    db.create_tables(",
        '    if "shelves_book" in db.get_tables():\n'
        '        db.execute_sql("ALTER TABLE shelves_book DROP COLUMN note")\n'
        "    db.create_tables(",
        "tables: shelves_book: its migrations change it when they are applied again",
        id="a migration that changes more when it is repeated",
        copy=2,
    ),
    edit(
        "shelf.py",
        "class Shelf(ListForm):",
        "from wsgiauth.extend import Problem\n\n\n"
        "class Shelf(ListForm):\n"
        '    refusals = (Problem("Unreadable", 422, {"unreadable": "It cannot be read."}),)\n',
        "document: POST /shelf: describe the code invalid of 422 in a `Problem`",
        id="another code",
        copy=4,
    ),
    edit(
        "feature.py",
        "FEATURE = Feature(",
        "from wsgiauth.extend import StaffSection\n\n"
        "FEATURE = Feature(\n"
        '    staff_sections=lambda settings: [StaffSection("shelves", "Shelves")],\n',
        "declaration: the title of the section shelves: mark 'Shelves' for translation",
        "declaration: the section shelves: its link leads to /admin/shelves: add it to `urls`",
        id="a section of the panel that is not marked, and has no URL",
        copy=4,
    ),
    edit(
        "tables.py",
        '_("Book lent")',
        "_(f'{1} lent')",
        "languages: tables.py: write each sentence in the call that marks it",
        id="a sentence that no tool finds",
        copy=1,
    ),
    edit(
        "tidy.py",
        "        require_login(environ, site)\n",
        "",
        "endpoints: GET /shelf/tidy: it answers anonymous clients, which lack what `security` asks"
        " for",
        id="a GET that is for everyone",
        copy=3,
    ),
    edit(
        "tidy.py",
        "    def get(",
        "    is_for_staff = True\n\n    def get(",
        "endpoints: GET /shelf/tidy: it answers a user, and `is_for_staff`",
        id="a GET that is not for staff alone",
        copy=3,
    ),
    edit(
        "tidy.py",
        '"books": Book.select().where(is_overdue()).count()}',
        '"books": 7}, cache="private"',
        "endpoints: GET /shelf/tidy: to a user, it answers without Cache-Control: no-store",
        id="an answer that is kept",
        copy=4,
    ),
    edit(
        "tidy.py",
        "        require_login(environ, site)\n",
        '        require_login(environ, site)\n        assert environ["REQUEST_METHOD"] == "GET"\n',
        "endpoints: HEAD /shelf/tidy: it raises AssertionError: , and GET 200 OK",
        id="an exception by HEAD",
        copy=5,
    ),
    edit(
        "tidy.py",
        '        require_same_origin(environ, site)\n        return json_response({"books": ',
        "        from http import HTTPStatus\n\n"
        '        return json_response(status=HTTPStatus(500), document={"books": ',
        "endpoints: POST /shelf/tidy: to a user, it answers 500",
        "endpoints: POST /shelf/tidy: from another site, to a user, it answers 500",
        id="an internal error",
        copy=3,
    ),
    edit(
        "feature.py",
        '"/shelf/tidy"',
        '"/shelf/tidy/{state}"',
        "document: GET /shelf/tidy/{state}: describe the part 'state' of the path as a parameter",
        id="a part of a path that is not described",
        copy=6,
    ),
    edit(
        "tables.py",
        "class Book(Model):",
        "class Book:\n    pass\n\n\nclass Book(Model):",
        id="two classes of one name",
        copy=1,
    ),
    edit(
        "migrations/0001_books.py",
        "LibraryCard])",
        "LibraryCard], safe=False)",
        "tables: migrations: let each work a second time: The migration 0001_books of the feature"
        " shelves failed",
        id="a migration that fails when it is repeated",
        copy=1,
    ),
    edit(
        "migrations/0001_books.py",
        "    db.create_tables(",
        '    db.execute_sql("CREATE TABLE IF NOT EXISTS shelves_other (id INTEGER)")\n'
        "    db.create_tables(",
        "tables: shelves_other: the feature has no model of this table",
        id="a table without a model",
        copy=1,
    ),
    edit(
        "feature.py",
        "commands={",
        'commands={"shelf": Command("shelves.commands", "list the books"),',
        "commands: shelf: call `parser.command` for it in `add_commands`",
        id="a command that the module does not add",
        copy=4,
    ),
    edit(
        "feature.py",
        '    letter_samples=(DueLetter(title="Emma"),),\n',
        "",
        "pages: mail/shelves_due.txt: add an example to `pages`",
        id="a template without an example",
        copy=3,
    ),
    edit(
        "templates/mail/shelves_due.txt",
        "title=letter.title",
        'title=letter.title if _("Title") ~ "" == "Title" else letter.name',
        "emails: mail/shelves_due.txt in de: UndefinedError: ",
        id="an email with an undefined value in one language",
        copy=4,
    ),
    edit(
        "templates/mail/shelves_due.txt",
        "letter.title",
        "letter.name",
        "declaration: the start of a site with shelves: The feature shelves: ",
        id="an email with an undefined value",
        copy=7,
    ),
    edit(
        "templates/shelves.html",
        "{{ each }}",
        "{{ each.isbn }}",
        "declaration: the start of a site with shelves: The feature shelves: ",
        id="an undefined value",
        copy=8,
    ),
    edit(
        "feature.py",
        "events=(BOOK_LENT,),",
        "",
        "declaration: tables.py: the event shelves_lent is not declared in `events`",
        id="an event that is not declared",
        copy=4,
    ),
    edit(
        "feature.py",
        '"/shelf": Shelf()',
        '"/shelf": Shelf(), "/login": Shelf()',
        "declaration: the start of a site with shelves: Two features have the URL /login: the"
        " kernel and shelves.",
        id="a URL of the kernel",
        copy=9,
    ),
    edit(
        "feature.py",
        "SHELVES_CARD: bool",
        "CARD: bool",
        "declaration: the start of a site with shelves: The setting CARD of the feature shelves"
        " must begin with SHELVES_.",
        id="the name of a setting",
        copy=10,
    ),
    edit(
        "shelf.py",
        "    def act(",
        "    def is_offered(self, settings):\n        return False\n\n    def act(",
        "declaration: /shelf: the settings turn the URL off: pass `settings` that turn all of it"
        " on",
        id="a URL that is off",
        copy=5,
    ),
    edit(
        "tables.py",
        'table_name = "shelves_book"',
        'table_name = "book"',
        "tables: book: let the name of the table begin with shelves_",
        "tables: book: no migration of the feature makes the table of this model",
        id="the name of a table",
        copy=11,
    ),
    edit(
        "shelf.py",
        'Text("title", ',
        'Text("name", ',
        "forms: shelves.html: the field 'title' of the form to /shelf is not in its `fields`",
        "forms: /shelf: no example of its page has the field 'name'",
        "document: POST /shelf: the example has the member 'title', which is not in the",
        id="a field that is not declared",
        copy=13,
    ),
    edit(
        "shelf.py",
        "class Shelf(ListForm):",
        "class Shelf(ListForm):\n    post = property()",
        "forms: shelves.html: the form to /shelf is sent by POST, which the URL does not answer",
        "document: POST /shelf: no handler answers it",
        id="a form to a URL without POST",
        copy=12,
    ),
    edit(
        "shelf.py",
        "    def act(",
        "    def from_json(self, sent, site):\n        return {'title': 'Emma'}\n\n    def act(",
        "endpoints: POST /shelf: it accepts 7 in the field title",
        id="a value of another type",
        copy=3,
    ),
    edit(
        "feature.py",
        '    openapi="shelves.openapi",\n',
        "",
        "document: shelves: name the module of its OPERATIONS in `openapi`",
        id="no document",
        copy=3,
    ),
    edit(
        "openapi.py",
        "    Shelf: {",
        "    dict: {",
        "document: dict: OPERATIONS describe a class that no URL of the feature has",
        "document: GET /shelf: OPERATIONS do not describe it",
        "document: POST /shelf: OPERATIONS do not describe it",
        id="another class",
        copy=6,
    ),
    edit(
        "card.py",
        "return bool(values[0])",
        "return True",
        "demands: card_required: a user who does not meet it by `arrange` is",
        "demands: card_required: a guard answers 200 OK to a session that lacks it",
        "demands: card_required: a guard answers 200 OK to a browser, and does not lead to its"
        " page",
        id="a demand that is always met",
        copy=3,
    ),
    edit(
        "card.py",
        "return bool(values[0])",
        "return False",
        "demands: card_required: a user who meets it by `arrange` is",
        id="a demand that is never met",
        copy=6,
    ),
    edit(
        "card.py",
        "reachable=(_PAGE, ",
        "reachable=(*(), ",
        "demands: card_required: its page /auth/shelf answers",
        id="a page that the user cannot reach",
        copy=4,
    ),
    edit(
        "card.py",
        "    problem = ",
        "    other = ",
        "demands: card_required: describe the refusal for programs in `problem`",
        id="a demand that is not described",
        copy=4,
    ),
    edit(
        "card.py",
        '"CardRequired", 403',
        '"CardRequired", 409',
        "demands: card_required: `refusal` is 403 card_required, and `problem` describes another",
        id="a demand that is described otherwise",
        copy=5,
    ),
    edit(
        "card.py",
        "    page = _PAGE",
        '    page = "/card"',
        "demands: card_required: it leads to /auth/shelf: name the path below /auth as `page`, too",
        id="another page",
        copy=4,
    ),
)


COMPOSED = {
    "wrong": "1 / 0",
    "nothing": "None",
    "deleted": "User.get_by_id(0)",
    "letter": "Addressed(DueLetter(title='Emma'), 'a@b.de', None, 'en')",
}


def test_an_email_that_cannot_be_composed_is_found(shelves):
    kinds = "".join(f'\n{each.upper()} = "shelves_due_{each}"' for each in COMPOSED)
    enqueued = "".join(f"        enqueue(kind={each.upper()}, {MAIL})\n" for each in COMPOSED)
    composers = "".join(
        f'        "shelves_due_{kind}": lambda mail, settings, now: {result},\n'
        for kind, result in COMPOSED.items()
    )
    feature = shelves(
        ("shelf.py", "\n\n\nclass ShelfPage", f"\n{kinds}\n\n\nclass ShelfPage"),
        (
            "shelf.py",
            "        lend(",
            f"        from wsgiauth.extend import enqueue\n\n{enqueued}        lend(",
        ),
        (
            "feature.py",
            "FEATURE = Feature(",
            "from wsgiauth.extend import Addressed, User\n\nFEATURE = Feature(\n"
            f"    composers=lambda factors: {{\n{composers}    }},\n",
        ),
    )
    expected = "emails: shelves_due_wrong: ZeroDivisionError: division by zero"
    (found,) = {*lines(feature, ON, fill=fill)}
    assert found.startswith(expected)


def test_a_wheel_without_migrations_is_found(shelves):
    feature = shelves()
    shutil.rmtree(feature.migrations)
    assert any("shelves_book" in each and "migration" in each for each in lines(feature))


def test_a_catalogue_with_another_name_is_found(shelves):
    feature = shelves()
    (compiled,) = feature.catalogues.rglob("*.mo")
    compiled.rename(compiled.with_name("messages.mo"))
    expected = "languages: locale: it has no catalogue such as de/LC_MESSAGES/shelves.mo"
    assert expected in lines(feature)


def test_what_looks_like_a_broken_rule_and_is_none_passes(shelves):
    chosen = '{{ {"Taken.": "", "": "", "Enter the title of a book.": ""}[page.message] }}'
    feature = shelves(
        # A string chooses what the page shows.
        ("templates/shelves.html", "{% block content %}", "{% block content %}" + chosen),
        # Failures that are described.
        (
            "shelf.py",
            "class Shelf(ListForm):",
            "from wsgiauth.extend import INVALID, RequestError\n"
            "from wsgiauth.extend.openapi import THROTTLED\n\n\n"
            "class Shelf(ListForm):\n    refusals = (INVALID, THROTTLED)",
        ),
        (
            "shelf.py",
            "        lend(",
            '        if title == "all":\n'
            "            submission.site.attempt(None, title)\n"
            '            raise RequestError(409, "invalid", _("Your shelf"))\n'
            "        lend(",
        ),
    )
    assert lines(feature, ON, fill=fill) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", sorted({each.copy for each in EDITS}))
def test_each_broken_rule_is_found(shelves, number):
    edits = [each for each in EDITS if each.copy == number]
    found = lines(shelves(*(each.change for each in edits)), ON, fill=fill)
    missing = {each.id: not_found(each.expected, found) for each in edits}
    assert {name: each for name, each in missing.items() if each} == {}


def not_found(expected, found):
    return [each for each in expected if not any(line.startswith(each) for line in found)]
