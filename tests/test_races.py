"""Two processes make the changes of each race at once."""

import re
import subprocess
import sys

import pytest

from tests.docs.pages import PAGES, ROOT
from tests.races.pair import pair_of_processes
from tests.races.race import RACES, Outcome, run
from tests.support.schema import MODELS
from wsgiauth.storage.connections import DATABASE_ERRORS

PAGE = PAGES["docs/concurrency.md"]
MECHANISMS = set(re.findall(r"^- \*\*([a-z ]+)\*\*: ", PAGE, re.MULTILINE))
CASES = [
    pytest.param(row, order, id=f"{row}, {order} first")
    for row, each in RACES.items()
    for order in each.orders
]
FAILED = {each.__name__ for kind in DATABASE_ERRORS for each in (kind, *kind.__subclasses__())}


def test_the_races_name_what_the_page_explains():
    named = {each.partition(":")[0] for race in RACES.values() for each in race.mechanisms}
    assert named == MECHANISMS


def test_the_columns_that_the_races_name_exist():
    columns = {
        f"{model._meta.table_name}.{field.column_name}"
        for model in MODELS
        for field in model._meta.sorted_fields
    }
    mechanisms = [each for race in RACES.values() for each in race.mechanisms]
    named = re.findall(r"wsgiauth_\w+\.\w+", "\n".join(mechanisms))
    assert named
    assert set(named) <= columns


def test_the_list_of_races_is_printed():
    command = [sys.executable, "-m", "tests.races"]
    printed = subprocess.check_output(command, cwd=ROOT, text=True)
    assert [row for row in RACES if f"\n{row}\n" not in printed] == []


@pytest.fixture(scope="session")
def pair(server_urls):
    """Return two processes, which end before the databases on servers are dropped."""
    with pair_of_processes() as started:
        yield started


@pytest.mark.every_database
@pytest.mark.parametrize(("row", "first"), CASES)
def test_what_the_race_says_holds(pair, database, settings, row, first):
    kind = settings.DATABASE_URL.partition(":")[0].replace("mysql", "mariadb")
    second = {"one": "other", "other": "one"}[first]
    facts = RACES[row].prepare()
    calls = [(run, row, name, *facts) for name in (first, second)]
    is_early = RACES[row].stops_early
    returned = pair.race(kind, settings.DATABASE_URL, *calls, is_early=is_early)
    results = dict(zip((first, second), returned, strict=True))
    assert not FAILED & {each for each in results.values() if isinstance(each, str)}
    RACES[row].check(Outcome(**results, first=first), *facts)
