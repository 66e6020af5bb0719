"""Coverage of wsgiauth, without the time that it takes to trace what is not wsgiauth."""

import sys

import peewee


def trace_no_sql():
    """Trace nothing while Peewee makes the text of a statement, most of its work.

    Tracing doubles that time. Of wsgiauth, only `db_value` of its fields is called there, which has
    tests of its own in `tests/storage/test_models.py`; nothing is imported.
    """
    make = peewee.Context.sql

    def sql(self, item):
        tracer = sys.gettrace()
        if tracer is None:  # also within another item
            return make(self, item)
        sys.settrace(None)
        try:
            return make(self, item)
        finally:
            sys.settrace(tracer)

    peewee.Context.sql = sql
