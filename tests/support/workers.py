"""Runs the collected tests in several processes: `pytest --parallel`.

The workers are forks of the process that has collected the tests, so that each test is compiled,
imported and collected once. The queue is a pipe with the index of each file of tests: a worker
reads one when it begins the last test of the file before.
"""

import multiprocessing
import os
import signal
from itertools import chain, groupby
from multiprocessing.connection import wait
from warnings import WarningMessage

_FORK = multiprocessing.get_context("fork")
_SIZE = 2  # bytes of the index of a file
_PATIENCE = 5  # seconds in which an interrupted worker ends its fixtures


def pytest_addoption(parser):
    """Add the option that Makefile uses."""
    parser.addoption("--parallel", action="store_true", help="run the tests on all processors")


def pytest_runtestloop(session):
    """Run the tests in a worker for each processor, and in two more if the tests wait."""
    options = session.config.option
    if not options.parallel or options.collectonly or session.testsfailed:
        return None
    if options.usepdb or options.trace or options.setupshow:  # which use the terminal
        return None
    of_python = getattr(options, "target", None) in ("test", "check")
    _run(session, (os.cpu_count() or 1) + (0 if of_python else 2))
    return True


def _run(session, number):
    """Run the tests of a session in a number of workers, and report them in this process."""
    files = [[*items] for _, items in groupby(session.items, lambda item: item.path)]
    queue, filled = os.pipe()
    os.write(filled, b"".join(each.to_bytes(_SIZE) for each in range(len(files))))
    os.close(filled)
    session.config._tmp_path_factory.getbasetemp()  # each worker would make or empty its own
    workers = {}
    running = {}  # the ids of tests
    try:
        for each in range(number):
            pipe, its_end = _FORK.Pipe(duplex=False)
            workers[pipe] = _FORK.Process(target=_work, args=(session, each, files, queue, its_end))
            workers[pipe].start()
            its_end.close()
        _report(session, workers, running)
    except session.Interrupted:
        raise
    except KeyboardInterrupt:
        where = ", ".join(filter(None, running.values())) or "no test"
        raise session.Interrupted(f"by Ctrl-C, in {where}") from None
    finally:
        for each in workers.values():  # if the run is interrupted
            if each.exitcode is None:
                os.kill(each.pid, signal.SIGINT)
        for each in workers.values():
            each.join(_PATIENCE)
            if each.exitcode is None:  # its test ignores the signal; another process cleans up
                each.kill()
                each.join()
        os.close(queue)


def _report(session, workers, running):
    """Report the tests of all workers as if they ran here, until the last worker has ended."""
    config, hook = session.config, session.config.hook
    while workers:
        for pipe in wait([*workers]):
            try:
                reports, warnings, following = pipe.recv()
            except EOFError:
                raise session.Interrupted(_death(workers[pipe], running.get(pipe))) from None
            for each in warnings:
                hook.pytest_warning_recorded.call_historic(kwargs=each)
            for each in reports:
                report = hook.pytest_report_from_serializable(config=config, data=each)
                hook.pytest_runtest_logreport(report=report)
            if reports:
                hook.pytest_runtest_logfinish(nodeid=running[pipe], location=report.location)
            running[pipe] = following
            if following is None:
                _end(session, workers.pop(pipe))
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)


def _death(worker, test):
    worker.join()
    status = worker.exitcode
    how = f"by signal {-status}" if status < 0 else f"with status {status}"
    return f"a worker died in {test}, {how}"


def _end(session, worker):
    worker.join()
    if worker.exitcode:
        raise session.Interrupted("a worker failed after its last test")


class _Sender:
    """A plugin of a worker, which sends the reports of each test."""

    def __init__(self, config, pipe):
        self._config, self._pipe = config, pipe
        self._reports, self._warnings = [], []

    def pytest_runtest_logreport(self, report):
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        given = warning_message
        plain = WarningMessage(str(given.message), given.category, given.filename, given.lineno)
        self._warnings.append(
            {"warning_message": plain, "when": when, "nodeid": nodeid, "location": location}
        )

    def run(self, items):
        """Run tests, and send with the reports of each the id of the test that follows, or None."""
        item, following = None, next(items, None)
        while True:
            self._pipe.send((self._reports, self._warnings, following and following.nodeid))
            self._reports, self._warnings = [], []
            if following is None:
                return
            item, following = following, next(items, None)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _work(session, number, files, queue, pipe):
    config = session.config
    config.workerinput = {}  # as pytest-xdist does, so that plugins write no file at the end
    os.environ["TEST_WORKER"] = str(number)
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    capture = plugins.get_plugin("capturemanager")
    capture.stop_global_capturing()  # into a file of all workers
    capture.start_global_capturing()
    sender = _Sender(config, pipe)
    plugins.register(sender)
    taken = iter(lambda: os.read(queue, _SIZE), b"")
    try:
        sender.run(chain.from_iterable(files[int.from_bytes(each)] for each in taken))
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    finally:
        capture.stop_global_capturing()
        config.hook.pytest_sessionfinish(session=session, exitstatus=0)  # ends the fixtures
        config.hook.pytest_unconfigure(config=config)
