"""How much work an action is: which Python functions it calls, and how often."""

import gc
import sys
from collections import Counter


def calls_of(action):
    """Return how often each function was called in this thread, by its file and name."""
    counted = Counter()

    def count(frame, event, argument):
        if event == "call":
            counted[frame.f_code.co_filename, frame.f_code.co_qualname] += 1

    gc.disable()  # a collection would run finalizers of earlier tests
    former = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(former)
        gc.enable()
    return counted
