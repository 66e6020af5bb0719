"""Tables in one test: setup, report and collection of a case take longer than most rows."""

from functools import wraps
from inspect import Signature, signature

import pytest

PARAM = type(pytest.param())


def row_by_row(names, table, *, ids=None):
    """Call a test with each row, as `pytest.mark.parametrize` does, but in one test.

    The rows share the fixtures of the test, so no row may change what another one needs. An error
    names its row.

    Args:
        names: The parameters, as a string with commas or as a tuple.
        table: The values of each row, or the value if there is one parameter; or `pytest.param`.
        ids: The names of the rows, or a function of a value; the values if left out.
    """
    named = [each.strip() for each in names.split(",")] if isinstance(names, str) else [*names]
    name_of = ids if callable(ids) else repr
    labels, found = [], []
    for row in table:
        is_param = isinstance(row, PARAM)
        values = row.values if is_param else row if len(named) > 1 else (row,)
        found.append(dict(zip(named, values, strict=True)))
        labels.append((is_param and row.id) or ", ".join(str(name_of(each)) for each in values))
    if ids is not None and not callable(ids):
        labels = [*ids]
    assert found

    def decorate(test):
        @wraps(test)
        def test_all(**fixtures):
            for label, row in zip(labels, found, strict=True):
                try:
                    test(**fixtures, **row)
                except Exception as error:
                    error.add_note(f"row: {label}")
                    raise

        parameters = signature(test).parameters
        assert {*named} <= {*parameters}
        others = [each for name, each in parameters.items() if name not in named]
        test_all.__signature__ = Signature(others)  # pytest reads it for fixtures
        return test_all

    return decorate
