"""What wsgiauth costs, beside its floor and beside what one would take instead: `make bench`.

All figures of a table are taken in one run, in interleaved rounds, so that a noisy machine disturbs
them alike: compare the ratios.
"""

import statistics
import time


def measure(actions, *, rounds, calls, clock=time.perf_counter):
    """Return the microseconds that each action takes, by name: the median of the rounds.

    Args:
        actions: Functions by name.
        rounds: How often each of them has its turn; every other time in the opposite order,
            because caches favour the one that comes first.
        calls: How often it is called in a turn.
        clock: What measures, in seconds.
    """
    taken = {name: [] for name in actions}
    for number in range(rounds):
        for name in sorted(actions, reverse=bool(number % 2)):
            action = actions[name]
            begun = clock()
            for _ in range(calls):
                action()
            taken[name].append((clock() - begun) / calls * 1e6)
    return {name: statistics.median(each) for name, each in taken.items()}


def print_table(head, *rows):
    """Print a Markdown table; numbers are rounded."""
    print("\n| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(map(_shown, row)) + " |", flush=True)


def _shown(value):
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2f}" if value < 10 else f"{value:.0f}" if value >= 100 else f"{value:.1f}"
