"""Compares what requests take at two sizes of a database."""

import statistics

REPEATED, PURGES = 75, 5
LIMIT = 1.5  # times


def compare_all(measured, small, large):
    """Print the median times of everything at both sizes; return whether all are near."""
    slow = [name for name, measure in measured.items() if _compare(name, measure, small, large)]
    print(f"Above {LIMIT} times: {', '.join(slow) or 'nothing'}.", flush=True)
    return not slow


def _compare(name, measure, small, large):
    """Print how long it takes at both sizes, and return whether it is too slow."""
    measure(small), measure(large)
    turns = range(PURGES if name.startswith("purge") else REPEATED)
    pairs = [(measure(small), measure(large)) for _ in turns]
    fast, slow = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
    is_slow = slow / fast > LIMIT
    mark = " above" if is_slow else ""
    print(f"{name:42}{fast:9.2f}{slow:11.2f}{slow / fast:7.2f}{mark}", flush=True)
    return is_slow
