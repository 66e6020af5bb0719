"""Promise 105: what a feature adds to pages, files and commands, and its functions that fail."""

import json
import math
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import peewee
import pytest
from webtest import TestApp

from tests.support.demands import Badge
from tests.support.sites import BROWSER, SECRET_KEY
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.accounts.personal_data import Records
from wsgiauth.accounts.registration import FeatureField
from wsgiauth.events import kinds
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import Feature, Question
from wsgiauth.figures import Figure, Waiting
from wsgiauth.forms.endpoint import LOGIN, AccountLink, BackLink, Endpoint, State
from wsgiauth.openapi.answers import JSON, Answer, Operation
from wsgiauth.openapi.schemas import schema, text
from wsgiauth.staff.event_reasons import EventReasons
from wsgiauth.staff.user_lists import UserList, UserRow
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in, make_settings, make_user
from wsgiauth.web.responses import Response

pytestmark = pytest.mark.promise(105)


def error():
    """Raise an exception of Python."""
    raise RuntimeError("broken")


def leave():
    """End the process, as far as Python is concerned."""
    raise SystemExit


def statement():
    """Send a statement that is wrong."""
    storage.current().execute_sql("SELECT missing FROM nowhere")


def in_transaction():
    """Send it in a transaction of the feature."""
    with storage.current().atomic():
        statement()


def in_forgotten_transaction():
    """Send it in a transaction that only the server knows."""
    storage.current().execute_sql("BEGIN")
    statement()


FAULTS = (error, leave, statement, in_transaction, in_forgotten_transaction)
fail = SimpleNamespace(now=error)  # what every function of the feature does


class Broken(Endpoint):
    """Has a link on the account page that fails."""

    def link_for(self, user):
        """Fail."""
        fail.now()

    def get(self, environ, site):
        """Fail, too."""
        fail.now()


class Stateless(Endpoint):
    """Has a link on the account page whose state fails."""

    account_link = AccountLink(LOGIN, "Toys", "Yours.", state=lambda overview: fail.now())

    def get(self, environ, site):
        """Answer."""
        return Response(200)

    def step_in_words(self, arguments, user):
        """Fail."""
        fail.now()

    def around(self, environ, user, back):
        """Fail."""
        fail.now()


class Toys(UserList):
    """A list of a user that fails."""

    name, title, empty = "toys", "Toys", "None."

    def rows(self, user, now):
        """Fail."""
        fail.now()


class ToyNames(EventReasons):
    """Names that fail."""

    events = (kinds.LOGIN.name,)

    def names(self, ids):
        """Fail."""
        fail.now()


def rows(user, settings):
    """Yield one row, and fail."""
    yield {"toy": "Bär"}
    fail.now()


FEATURE = Feature(
    name="toys",
    urls={"/toys": Broken(), "/toys/all": Stateless()},
    parts=lambda settings: {Toys: lambda _: Toys(), ToyNames: lambda _: ToyNames()},
    personal_data={
        "toys": Records("toys", rows),
        "again": Records("unreadable_toys", lambda user, settings: ["\ud800"]),
        "bought": Records("bought_toys", lambda user, settings: ["a ball"]),
    },
    figures=lambda settings: [Figure("toys", "Toys.", lambda now: fail.now())],
    waiting=lambda settings: {"toys": lambda: fail.now()},
    questions=(
        Question(lambda site: fail.now(), needs_database=False),
        Question(lambda site: fail.now(), is_for_panel=True),
    ),
)


@pytest.fixture(params=FAULTS, ids=lambda each: each.__name__)
def fault(request, monkeypatch):
    """Let the feature fail in each way."""
    monkeypatch.setattr(fail, "now", request.param)


@pytest.fixture
def site(settings):
    changed = make_settings(
        DATABASE_URL=settings.DATABASE_URL,
        FEATURES=(FEATURE,),
        ADMIN_PANEL=True,
        MAIL_URL="memory:",
    )
    yield AuthMiddleware(lambda *_: [], changed)
    storage.discard_connection(storage.current())


@pytest.fixture
def boss(site):
    return make_user(site, "boss", is_staff=True, is_superuser=True)


@pytest.fixture
def browser(site, boss):
    return logged_in(site, boss)


@pytest.fixture
def make_browser(settings):
    """Return a function that makes a site with a feature, and returns a superuser's browser."""

    def make(**declared):
        feature = Feature(name="toys", **declared)
        changed = make_settings(
            DATABASE_URL=settings.DATABASE_URL, FEATURES=(feature,), ADMIN_PANEL=True, METRICS=True
        )
        made = AuthMiddleware(lambda *_: [], changed)
        return logged_in(made, make_user(made, "boss", is_staff=True, is_superuser=True))

    yield make
    storage.discard_connection(storage.current())


def missing(caplog):
    """Return what is missing according to the log, each with its traceback."""
    records = [each for each in caplog.records if "is missing" in each.message]
    assert all(each.exc_info for each in records)
    found = [each.message.removeprefix("a function of toys failed, so that ") for each in records]
    return [each.removesuffix(" is missing") for each in found]


@pytest.mark.every_database
def test_the_account_page_lacks_only_what_fails(browser, fault, caplog):
    page = browser.get("/auth/account", headers=BROWSER, status=200)
    links = [each["href"] for each in page.html.select("main a[href]")]
    assert "/auth/toys/all" in links
    assert "/auth/password" in links
    assert "/auth/toys" not in links
    assert missing(caplog) == [
        "the link to /toys on the account page",
        'the state of "Toys" on the account page',
    ]


def test_a_part_that_fails_is_in_the_log_once_a_minute(browser, fault, caplog, monkeypatch):
    for _ in range(2):
        browser.get("/auth/account", headers=BROWSER, status=200)
    assert len(missing(caplog)) == 2
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + 60)
    browser.get("/auth/account", headers=BROWSER, status=200)
    assert len(missing(caplog)) == 4


class Place(Endpoint):
    """Has the link of a test on the account page."""

    def __init__(self, link, *, is_offered=None):
        self._link, self._is_offered = link, is_offered or (lambda: True)

    def link_for(self, user):
        """Return it."""
        return self._link

    def is_offered(self, settings):
        """Return whether the test offers it."""
        return self._is_offered()

    def get(self, environ, site):
        """Answer."""
        return Response(200)


LINK = AccountLink(LOGIN, "Toys", "Yours.")
WRONG_LINKS = {
    "a string": "Toys",
    "a title that is no string": LINK._replace(title=None),
    "a group that has no hash": LINK._replace(group=[]),
    "a place that is no number": LINK._replace(place="first"),
    "a string that cannot be sent": LINK._replace(text="\ud800"),
}


@pytest.mark.parametrize("link", WRONG_LINKS.values(), ids=WRONG_LINKS)
def test_the_account_page_lacks_a_link_of_a_wrong_type(link, make_browser, caplog):
    browser = make_browser(urls={"/toys": Place(link)})
    page = browser.get("/auth/account", headers=BROWSER, status=200)
    assert "/auth/password" in page.text
    assert "/auth/toys" not in page.text
    assert missing(caplog) == ["the link to /toys on the account page"]


def test_the_account_page_lacks_a_link_that_is_perhaps_not_offered(make_browser, caplog):
    answers = iter([True])
    browser = make_browser(urls={"/toys": Place(LINK, is_offered=lambda: next(answers))})
    page = browser.get("/auth/account", headers=BROWSER, status=200)
    assert "/auth/password" in page.text
    assert missing(caplog) == ["the link to /toys on the account page"]


@pytest.mark.parametrize("state", ["North", 7, State(7), State("\ud800"), State("", kind=[])])
def test_the_account_page_lacks_a_state_of_a_wrong_type(state, make_browser, caplog):
    link = LINK._replace(state=lambda overview: state)
    browser = make_browser(urls={"/toys": Place(link)})
    page = browser.get("/auth/account", headers=BROWSER, status=200)
    assert "/auth/toys" in page.text
    assert missing(caplog) == ['the state of "Toys" on the account page']


def test_a_link_with_an_unknown_icon_has_the_usual_one(make_browser):
    browser = make_browser(urls={"/toys": Place(LINK._replace(icon="toys"))})
    page = browser.get("/auth/account", headers=BROWSER, status=200)
    assert page.html.select('a[href="/auth/toys"] svg path[d]')


@pytest.mark.every_database
def test_the_pages_of_the_panel_lack_only_what_fails(browser, boss, fault, caplog):
    found = browser.get(f"/auth/admin/users/{boss.id}", status=200).json
    assert "toys" not in found
    assert "oauth" not in found
    assert len(found["logins"]) == 1
    events = browser.get("/auth/admin/events", headers=BROWSER, status=200)
    assert "Logged in" in events.text
    overview = browser.get("/auth/admin", status=200).json
    assert overview["users"] == {"active": 1, "inactive": 0}
    assert overview["waiting"] == [{"queue": "emails", "number": 0, "oldest_seconds": 0}]
    assert [*dict.fromkeys(missing(caplog))] == [
        "the list toys of a user",
        "the names for reasons in the trail",
        "the figure toys",
        "the figure waiting",
        "the figure oldest_waiting_seconds",
        "an answer of `check` on the overview of the staff panel",
    ]


def list_of(rows, **changes):
    """Return a part with a list of these rows."""
    values = {**vars(Toys), "rows": lambda self, user, now: rows, **changes}
    part = type("Toys", (UserList,), values)
    return {"parts": lambda settings: {part: lambda _: part()}}


ROW = UserRow("Ball", utc_now(), {})
WRONG_LISTS = {
    "pairs": list_of([("Ball", 7)]),
    "strings": list_of("ab"),
    "objects of JSON": list_of([{"name": "Ball"}]),
    "a row without a time": list_of([ROW._replace(since=None)]),
    "a document that is no object": list_of([ROW._replace(document=[])]),
    "a document that is no JSON": list_of([ROW._replace(document={"ball": {1}})]),
    "a document that cannot be sent": list_of([ROW._replace(document={"ball": "\ud800"})]),
    "no number of rows": list_of([ROW], most="one"),
    "no title": list_of([ROW], title=None),
}


@pytest.mark.parametrize("declared", WRONG_LISTS.values(), ids=WRONG_LISTS)
@pytest.mark.parametrize("headers", [{}, BROWSER], ids=["JSON", "page"])
def test_the_page_of_a_user_lacks_a_list_of_wrong_types(headers, declared, make_browser, caplog):
    browser = make_browser(**declared)
    page = browser.get(f"/auth/admin/users/{User.get().id}", headers=headers, status=200)
    assert "toys" not in page.text
    assert "logins" in page.text
    assert missing(caplog) == ["the list toys of a user"]


WRONG_NAMES = {
    "numbers": lambda self, ids: dict.fromkeys(ids, 7),
    "no mapping": lambda self, ids: [*ids],
    "what cannot be sent": lambda self, ids: dict.fromkeys(ids, "\ud800"),
}


@pytest.mark.parametrize("names", WRONG_NAMES.values(), ids=WRONG_NAMES)
def test_the_trail_lacks_names_of_wrong_types(names, make_browser, caplog):
    part = type("Names", (ToyNames,), {"events": (kinds.RIGHTS_CHANGED.name,), "names": names})
    browser = make_browser(parts=lambda settings: {part: lambda _: part()})
    User.get().grant("toys.buy")
    events = browser.get("/auth/admin/events", headers=BROWSER, status=200)
    assert "Logged in" in events.text
    assert missing(caplog) == ["the names for reasons in the trail"]


TOYS = Figure("toys", "Toys.", lambda now: 1)
BY_KIND = TOYS._replace(label="kind")
WRONG_FIGURES = {
    "None": TOYS._replace(measure=lambda now: None),
    "a string": TOYS._replace(measure=lambda now: "7"),
    "a list": TOYS._replace(measure=lambda now: [7]),
    "no number": TOYS._replace(measure=lambda now: math.nan),
    "a number that is too large": TOYS._replace(measure=lambda now: 10**400),
    "several without a label": TOYS._replace(measure=lambda now: {"balls": 7}),
    "one with a label": BY_KIND,
    "a string with a label": BY_KIND._replace(measure=lambda now: "7"),
    "an unnamed one": BY_KIND._replace(measure=lambda now: {None: 7}),
    "strings by a label": BY_KIND._replace(measure=lambda now: {"balls": "7"}),
    "a kind that cannot be sent": BY_KIND._replace(measure=lambda now: {"\ud800": 7}),
    "no meaning": TOYS._replace(meaning=None),
}


@pytest.mark.parametrize("figure", WRONG_FIGURES.values(), ids=WRONG_FIGURES)
def test_the_metrics_lack_a_figure_of_a_wrong_type(figure, make_browser, caplog):
    browser = make_browser(figures=lambda settings: [figure])
    page = browser.get("/auth/metrics", status=200)
    assert 'wsgiauth_users{state="active"} 1.0' in page.text
    assert "toys" not in page.text
    assert browser.get("/auth/admin", status=200).json["users"] == {"active": 1, "inactive": 0}
    assert missing(caplog) == ["the figure toys"]


WRONG_COUNTS = [None, 7, Waiting("7", None), Waiting(7, "long")]


@pytest.mark.parametrize("count", WRONG_COUNTS)
def test_the_overview_lacks_a_queue_that_is_counted_wrongly(count, make_browser, caplog):
    browser = make_browser(waiting=lambda settings: {"toys": lambda: count})
    assert browser.get("/auth/admin", headers=BROWSER, status=200).html.h1
    assert set(missing(caplog)) <= {"the figure waiting", "the figure oldest_waiting_seconds"}
    assert missing(caplog)


@pytest.mark.every_database
def test_the_file_of_own_data_stays_json_and_says_what_is_incomplete(browser, fault, caplog):
    found = browser.get("/auth/data", status=200).json
    assert found["toys"] == [{"toy": "Bär"}]
    assert found["unreadable_toys"] == []
    assert found["bought_toys"] == ["a ball"]
    assert found["incomplete"] == ["toys", "unreadable_toys"]
    assert found["preferred_username"] == "boss"
    assert missing(caplog) == [
        "a part of toys in personal data",
        "a part of unreadable_toys in personal data",
    ]


def test_a_proof_leads_on_without_words_that_fail(browser, fault, caplog):
    page = browser.get("/auth/confirm?next=/auth/toys/all", headers=BROWSER, status=200)
    assert "/auth/account" in [each["href"] for each in page.html.select("main a[href]")]
    assert missing(caplog) == ["the words about the step after a proof"]


def test_an_error_page_has_the_plain_frame_if_its_own_fails(browser, fault, caplog):
    page = browser.post("/auth/toys/all", headers=BROWSER, status=405)
    assert page.html.h1
    assert missing(caplog) == ["the frame of an error page"]


class Back(Place):
    """Is the page above an address that does not exist."""

    def __init__(self, back):
        super().__init__(None)
        self.back = back

    def around(self, environ, user, back):
        """Return no frame if the test has no link."""
        return super().around(environ, user, back) if back.path != "around" else "member.html"


WRONG_BACKS = {
    "None": None,
    "a string": "badges",
    "another part of the path": BackLink("toys/{nope}", "Back"),
    "a number": BackLink("toys", 7),
    "no frame": BackLink("around", "Back"),
}


@pytest.mark.parametrize("back", WRONG_BACKS.values(), ids=WRONG_BACKS)
def test_an_error_page_has_a_frame_without_a_link_of_a_wrong_type(back, make_browser, caplog):
    browser = make_browser(urls={"/toys": Back(back)})
    browser.post("/auth/toys", headers=BROWSER, status=405)
    page = browser.get("/auth/toys/none", headers=BROWSER, status=404)
    assert page.html.h1
    assert missing(caplog)
    if back != WRONG_BACKS["no frame"]:
        page = browser.get("/auth/confirm?next=/auth/toys", headers=BROWSER, status=200)
        assert "/auth/account" in [each["href"] for each in page.html.select("main a[href]")]
        assert "the words about the step after a proof" in missing(caplog)


@pytest.mark.parametrize("words", [None, 7, ["Toys"], "\ud800"])
def test_a_proof_leads_on_without_words_of_a_wrong_type(words, make_browser, caplog):
    toys = Place(None)
    toys.step_in_words = lambda arguments, user: words
    browser = make_browser(urls={"/toys": toys})
    page = browser.get("/auth/confirm?next=/auth/toys", headers=BROWSER, status=200)
    assert "/auth/account" in [each["href"] for each in page.html.select("main a[href]")]
    assert missing(caplog) == ["the words about the step after a proof"]


def test_an_error_page_needs_no_page_that_is_perhaps_not_offered(make_browser, caplog):
    answers = iter([True])
    browser = make_browser(urls={"/toys": Place(None, is_offered=lambda: next(answers))})
    page = browser.get("/auth/toys/none", headers=BROWSER, status=404)
    assert "/auth/account" in page.text
    browser.get("/auth/confirm?next=/auth/toys", headers=BROWSER, status=200)
    assert missing(caplog) == ["the page of Place"]


@pytest.mark.parametrize("permissions", [[None], "toys.buy", ["toys"]])
def test_a_permission_of_a_wrong_form_ends_the_start(permissions, make_browser):
    with pytest.raises(ConfigurationError, match="The feature toys asks for the permission"):
        make_browser(permissions=lambda settings: permissions)


PAGES = {
    "account": BROWSER,
    "data": {},
    "admin": {},
    "admin/events": BROWSER,
    "admin/users/1": {},
}


@pytest.mark.parametrize("page", PAGES)
def test_without_a_database_the_answer_is_503(browser, page, monkeypatch):
    def away(*arguments):
        raise peewee.OperationalError("away")

    def lose():
        monkeypatch.setattr(storage.current(), "fetchall", away)
        away()

    monkeypatch.setattr(fail, "now", lose)
    browser.get(f"/auth/{page}", headers=PAGES[page], status=503)


@pytest.mark.parametrize("module", ["", __name__, "tests.nowhere"])
def test_the_document_lacks_what_a_feature_does_not_describe(module, caplog):
    feature = Feature(name="toys", urls={"/toys": Broken()}, openapi=module)
    site = AuthMiddleware(lambda *_: [], make_settings(FEATURES=(feature,)))
    paths = TestApp(site).get("/auth/openapi.json").json["paths"]
    assert "/toys" not in paths
    assert "/login" in paths
    assert "the OpenAPI document lacks /toys: toys does not describe it" in caplog.text
    assert missing(caplog) == (["its part of the OpenAPI document"] if module else [])


class Toy(FeatureField):
    """A field whose schema is that of a test."""

    made: object = None

    def record(self, user, value):
        """Store nothing."""

    def schema(self):
        """Return the schema of the test."""
        return self.made if self.made else fail.now()


class ToyDemand(Badge):
    """A demand that everyone meets, with an error that the document cannot describe."""

    error, keyword, problem = "toy_required", "toy", "a toy"

    def is_met(self, user, values):
        """Return True."""
        return True


def wrong_schema(made):
    field = Toy("toy", "Toy")
    field.made = made
    return {"registration_fields": lambda settings: [field]}


GET = Operation(
    "listToys", "The toys", answers=(Answer(status=200, about="Them.", content={JSON: text()}),)
)
OURS = replace(
    GET, answers=(Answer(status=200, about="Toys.", content={JSON: schema("Problem", text())}),)
)
WRONG_PARTS = {
    "no operations": {"OPERATIONS": None},
    "a list of operations": {"OPERATIONS": [Place]},
    "a string as an operation": {"OPERATIONS": {Place: {"get": "The toys"}}},
    "a sentence that is no string": {"OPERATIONS": {Place: {"get": replace(GET, about={7})}}},
    "what cannot be sent": {"OPERATIONS": {Place: {"get": replace(GET, about="\ud800")}}},
    "the name of a schema of ours": {"OPERATIONS": {Place: {"get": OURS}}},
    "members that are no mapping": {"OPERATIONS": {}, "MEMBERS": {"Profile": 7}},
    "an exit": {"OPERATIONS": property(leave)},
}
WRONG_FURTHER = {
    "no schema of a field": wrong_schema(None),
    "a schema that is no JSON": wrong_schema({7}),
    "a problem that is a string": {"demands": lambda settings: [ToyDemand()]},
}


def require_lack(site, caplog):
    """Assert that the document has only what is ours, and is made once."""
    client = TestApp(site)
    for _ in range(2):
        document = client.get("/auth/openapi.json", status=200).json
        assert "/login" in document["paths"]
        assert "/toys" not in document["paths"]
        assert "toy" not in str(document["paths"]["/register"])
    assert missing(caplog) == ["its part of the OpenAPI document"]


@pytest.mark.parametrize("attributes", WRONG_PARTS.values(), ids=WRONG_PARTS)
def test_the_document_lacks_a_part_of_wrong_types(attributes, make_browser, monkeypatch, caplog):
    described = {"OPERATIONS": {Place: {"get": GET}}, **attributes}
    monkeypatch.setitem(sys.modules, "toys_described", type("Module", (), described)())
    browser = make_browser(urls={"/toys": Place(LINK)}, openapi="toys_described")
    require_lack(browser.app, caplog)


@pytest.mark.parametrize("declared", WRONG_FURTHER.values(), ids=WRONG_FURTHER)
def test_the_document_lacks_a_field_or_an_error_of_a_wrong_type(declared, make_browser, caplog):
    require_lack(make_browser(**declared).app, caplog)


def test_the_document_has_what_another_feature_describes(settings, monkeypatch, caplog):
    described = SimpleNamespace(OPERATIONS={Place: {"get": GET}})
    monkeypatch.setitem(sys.modules, "toys_described", described)
    good = Feature(name="balls", urls={"/balls": Place(LINK)}, openapi="toys_described")
    bad = Feature(name="toys", urls={"/toys": Stateless()}, openapi=__name__)
    for features in ((good, bad), (bad, good)):
        site = AuthMiddleware(lambda *_: [], make_settings(FEATURES=features))
        paths = TestApp(site).get("/auth/openapi.json").json["paths"]
        assert paths["/balls"]["get"]["summary"] == "The toys"
        assert "/toys" not in paths


def test_the_document_lacks_a_page_that_is_perhaps_not_offered(make_browser, caplog):
    answers = iter([True])
    browser = make_browser(urls={"/toys": Place(None, is_offered=lambda: next(answers))})
    assert "/login" in browser.get("/auth/openapi.json").json["paths"]
    assert missing(caplog) == ["/toys in the OpenAPI document"]


def test_check_names_a_feature_whose_question_fails(settings, monkeypatch, capsys, database):
    from wsgiauth.cli import main

    values = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": settings.DATABASE_URL}
    values["FEATURES"] = f"{__name__}:FEATURE"
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert main(["check"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("warning: A question of toys failed (RuntimeError).\n") == 2
    assert "There is no superuser" in printed
    for fault in (error, leave):
        monkeypatch.setattr(fail, "now", fault)
        assert main(["check", "--strict"]) == 1


SAYS = Feature(
    name="toys",
    questions=(Question(lambda site: ["No toys."], needs_database=False, is_for_panel=True),),
)


def test_a_question_that_yields_a_string_fails_alone(settings, monkeypatch, capsys):
    from wsgiauth.cli import main

    panel = make_settings(DATABASE_URL=settings.DATABASE_URL, FEATURES=(SAYS,), ADMIN_PANEL=True)
    site = AuthMiddleware(lambda *_: [], panel)
    browser = logged_in(site, make_user(site, is_staff=True, is_superuser=True))
    browser.get("/auth/admin", headers=BROWSER, status=200)
    values = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": settings.DATABASE_URL}
    values["FEATURES"] = f"{__name__}:SAYS"
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert main(["check"]) == 0
    assert "warning: A question of toys failed (TypeError).\n" in capsys.readouterr().out


def test_the_command_warns_of_a_list_that_fails(site, boss, settings, monkeypatch, capsys):
    from wsgiauth.cli import main

    values = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": settings.DATABASE_URL}
    values["FEATURES"] = f"{__name__}:FEATURE"
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert main(["personal-data", "boss"]) == 0
    printed, errors = capsys.readouterr()
    assert json.loads(printed)["toys"] == [{"toy": "Bär"}]
    assert "warning: toys is incomplete: a function of toys failed\n" in errors
