"""Prints what two processes do at once, what must hold afterwards, and what ensures it."""

from tests import races
from tests.races.race import RACES

print(races.__doc__)
for happens, each in RACES.items():
    print(f"{happens}\n    {each.outcome} By {'; or '.join(each.mechanisms)}.\n")
