"""Does identifying a caller cost more where there are more users and sessions?"""

import itertools

from tests.load.bench import measure, print_table
from tests.load.bench.requests import floor, nothing, request
from tests.load.bench.sites import Site

PEOPLE = (1_000, 10_000, 100_000, 1_000_000)
TOKENS = 1_000  # spread over all sessions


def report(folder):
    """Print the table."""
    actions = {}
    for people in PEOPLE:
        site = Site(f"sqlite:///{folder}/{people}.db", nothing, people)
        tokens = itertools.cycle(site.tokens(TOKENS))
        never_seen = site.never_seen(TOKENS)
        verified, find = itertools.cycle(site.tokens(TOKENS)), floor(site.path)
        actions["seen before", people] = _bearer(site.app, tokens)
        actions["never seen", people] = _bearer(site.app, never_seen)
        actions["floor", people] = lambda verified=verified, find=find: find(next(verified))
        for _ in range(TOKENS):
            actions["seen before", people]()
    medians = measure(actions, rounds=31, calls=100)
    print("\nA request, in µs, by the number of users and of sessions")
    print_table(
        ("", *(f"{people:,}" for people in PEOPLE), "most / fewest"),
        *(
            (
                case,
                *(medians[case, people] for people in PEOPLE),
                medians[case, PEOPLE[-1]] / medians[case, PEOPLE[0]],
            )
            for case in ("seen before", "never seen", "floor")
        ),
    )


def _bearer(app, tokens):
    def bearer():
        request(app, HTTP_AUTHORIZATION=f"Bearer {next(tokens)}")

    return bearer
