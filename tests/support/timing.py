"""Times that a slow machine does not lengthen."""

from time import monotonic


def shortest(action, *arguments, clock=monotonic, times=3):
    """Return the seconds that the fastest of some calls took."""

    def once():
        begun = clock()
        action(*arguments)
        return clock() - begun

    return min(once() for _ in range(times))
