"""Tables in one test: `tests.support.tables`."""

import pytest

from tests.support.tables import row_by_row

ROWS = [pytest.param(1, "a", id="first"), (2, "b")]


def test_each_row_is_tested_with_the_fixtures_of_the_test(request):
    called = []

    @row_by_row("number, word", ROWS)
    def check(request, number, word):
        called.append((request, number, word))

    check(request=request)
    assert called == [(request, 1, "a"), (request, 2, "b")]


@pytest.mark.parametrize(
    ("ids", "name"), [(None, "2, 'b'"), (str.upper, "2, B"), (["x", "y"], "y")]
)
def test_an_error_names_its_row(ids, name):
    @row_by_row(("number", "word"), [("1", "a"), ("2", "b")] if ids is str.upper else ROWS, ids=ids)
    def check(number, word):
        assert word == "a"

    with pytest.raises(AssertionError) as caught:
        check()
    assert caught.value.__notes__ == [f"row: {name}"]


@row_by_row("number", [1, 2])
@row_by_row("other", [3])
def test_tables_can_be_combined(tmp_path, number, other):
    assert tmp_path.is_dir()
    assert (number in (1, 2), other) == (True, 3)


def test_a_table_without_rows_or_with_an_unknown_parameter_is_refused():
    with pytest.raises(AssertionError):
        row_by_row("number", [])
    with pytest.raises(AssertionError):
        row_by_row("other", [1])(lambda number: None)
