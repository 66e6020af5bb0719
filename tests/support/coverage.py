"""Coverage of wsgiauth, without the time that it takes to trace what is not wsgiauth.

A tracer makes Python 3.11 much slower, in every module. So that of coverage is there only while
something of wsgiauth can run: in fixtures, in tests, and in modules that are imported. It is not
there while pytest goes from one to the other, while libraries are imported, in functions that take
long and call nothing of wsgiauth, and in tests that are marked `uncounted` or use Chromium.
"""

import os
import sys
import threading
from functools import wraps
from importlib.machinery import SourceFileLoader

import bs4
import peewee
import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

_OURS = ("wsgiauth", "sample_wsgi")
# The tests of code that differs by the kind of database. What the others do on PostgreSQL and
# MariaDB is measured on SQLite.
OF_SERVERS = (
    "tests/accounts/test_locks.py",
    "tests/cli/",
    "tests/features/audit/",
    "tests/features/panel/test_user_search.py",
    "tests/storage/",
)


def trace_less():
    """Trace nothing while Peewee makes the text of a statement, or a page is parsed.

    Of wsgiauth, only `db_value` of its fields is called there, which has tests of its own in
    `tests/storage/test_models.py`; nothing is imported.
    """
    peewee.Context.sql = _traced_by(lambda *_: None, peewee.Context.sql)
    bs4.BeautifulSoup.__init__ = _traced_by(lambda *_: None, bs4.BeautifulSoup.__init__)


class TracedTests:
    """A plugin that measures the coverage of wsgiauth in fixtures and tests, and of imports."""

    def __init__(self):
        self._tracer = sys.gettrace()
        self._of_thread = threading.gettrace()
        self._of_test = None
        self._of_module_of_tests = self._tracer  # which decorates views
        for loader in (SourceFileLoader, AssertionRewritingHook):
            loader.exec_module = _traced_by(self._of_module, loader.exec_module)
        for kind, name in (
            (pytest.FixtureDef, "execute"),
            (pytest.FixtureDef, "finish"),
            (pytest.Function, "runtest"),
        ):
            setattr(kind, name, _traced_by(lambda *_: self._of_test, getattr(kind, name)))
        sys.settrace(None)

    def pytest_collection_finish(self):
        self._of_module_of_tests = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        is_measured = _is_measured(item)
        self._of_test = self._tracer if is_measured else None
        threading.settrace(self._of_thread if is_measured else None)

    def pytest_unconfigure(self):
        sys.settrace(self._tracer)
        threading.settrace(self._of_thread)
        if "TEST_WORKER" in os.environ:  # whose end coverage does not see
            from coverage import Coverage  # which most starts do without

            Coverage.current().save()

    def _of_module(self, _, module):
        if module.__name__.partition(".")[0] in _OURS:
            return self._tracer
        is_of_library = "/lib/python" in (module.__spec__.origin or "")
        return None if is_of_library else sys.gettrace() or self._of_module_of_tests


def _traced_by(tracer_of, function):
    """Return a function whose tracer depends on its arguments."""

    @wraps(function)
    def call(*arguments, **keywords):
        before, tracer = sys.gettrace(), tracer_of(*arguments)
        if tracer is before:
            return function(*arguments, **keywords)
        sys.settrace(tracer)
        try:
            return function(*arguments, **keywords)
        finally:
            sys.settrace(before)

    return call


def _is_measured(item):
    if item.get_closest_marker("uncounted") or "chromium" in item.fixturenames:
        return False
    kind = getattr(item, "callspec", None) and item.callspec.params.get("database_url")
    return kind in (None, "sqlite") or item.nodeid.startswith(OF_SERVERS)
