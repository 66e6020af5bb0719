"""Requests that Schemathesis makes from openapi.json, sent to a served site.

Run it with `make measure NAME=contract`, or repeat a run with `python -m tests.load.contract
EXAMPLES SEED`; EXAMPLES is how many each operation gets. Unlike the tests, it sends them over HTTP,
also as a member of the staff, and tries others each time.
"""

import argparse
import itertools
import logging
import random
import sys
import tempfile
import warnings
from pathlib import Path

import schemathesis
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import load_all_checks
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from webtest import TestApp

from tests.support.contract import contract_config
from tests.support.driving import make_site
from tests.support.hostile_provider import Provider
from tests.support.sites import BROWSER, serving
from wsgiauth.settings import PER_ADDRESS
from wsgiauth.testing import bearer, mailbox, make_user

EXAMPLES = 50
UNLIMITED = (*PER_ADDRESS, "MAILS_PER_ACCOUNT", "LOGIN_FAILURES_PER_ACCOUNT", "LOGINS_PER_ACCOUNT")
KINDS = {"user": {}, "superuser": {"is_staff": True, "is_superuser": True}}


@schemathesis.hook
def after_call(_context, _case, response):
    """Join the lines of a header as RFC 9110, section 5.3, says: Schemathesis checks the first."""
    lines = response.headers.pop("www-authenticate", None)
    if lines:
        response.headers["www-authenticate"] = [", ".join(lines)]


class Logins:
    """Logs in whoever sends a request; the last one may have ended the session, or the account."""

    def __init__(self, site):
        self._site = site
        self._numbers = itertools.count()
        self._headers = {}

    def of(self, kind):
        """Return the header of a session of a user of a kind."""
        known = self._headers.get(kind, {})
        profile = TestApp(self._site).get("/auth/me", headers=known, status="*").json
        is_still = profile.get("is_superuser") is bool(KINDS[kind])
        if not is_still:
            name = f"{kind}{next(self._numbers)}"
            user = make_user(self._site, name, permissions=["a.read"], **KINDS[kind])
            self._headers[kind] = bearer(self._site, user)
        return self._headers[kind]


def check(contract, logins, label):
    """Try an operation; return what Schemathesis says of the first wrong answer, or ""."""

    @hypothesis_settings(deadline=None, suppress_health_check=list(HealthCheck))
    def send(case):
        user, superuser = map(logins.of, KINDS)
        for headers in ({}, BROWSER, user, superuser, superuser | BROWSER):
            case.call_and_validate(headers=headers)

    method, path = label.split()
    test = build_operation_test(
        config=contract.config,
        operation=contract[path][method],
        test_func=send,
        given_kwargs={},
        feedback=FeedbackSources(),
    )
    try:
        test()
    except BaseExceptionGroup as group:
        return "\n".join(map(str, group.exceptions))
    except Exception as error:
        return str(error)
    return ""


def main(examples, seed):
    """Try every operation, print what is wrong, and return whether nothing is."""
    load_all_checks()
    wrong = 0
    with tempfile.TemporaryDirectory() as name, Provider() as provider:
        folder = Path(name)
        unlimited = dict.fromkeys(UNLIMITED, "0")
        site = make_site(f"sqlite:///{folder}/contract.db", folder, provider, **unlimited)
        mailbox(site)  # so that no thread sends
        logins = Logins(site)
        with serving(site) as address:
            contract = schemathesis.openapi.from_url(
                f"{address}/auth/openapi.json", config=contract_config(examples, seed)
            )
            labels = [each.ok().label for each in contract.get_all_operations()]
            for label in labels:
                found = check(contract, logins, label)
                wrong += found != ""
                print(f"{'WRONG' if found else 'right'} {label}", found, flush=True)
    print(f"{len(labels)} operations, {examples} examples of each, seed {seed}: {wrong} are wrong.")
    return not wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("examples", type=int, nargs="?", default=EXAMPLES)
    parser.add_argument("seed", type=int, nargs="?", default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    logging.disable()  # of what the answers say anyway
    warnings.simplefilter("ignore")
    sys.exit(not main(options.examples, options.seed))
