"""Dates and times of day for people, in UTC.

The catalogues have the names of the months and the order of the parts. A test compares the shipped
ones with Unicode's CLDR, which the standard library lacks.
"""

from datetime import datetime

from wsgiauth.messages import Message, _, pgettext

_MONTHS = (
    pgettext("month in a date", "January"),
    pgettext("month in a date", "February"),
    pgettext("month in a date", "March"),
    pgettext("month in a date", "April"),
    pgettext("month in a date", "May"),
    pgettext("month in a date", "June"),
    pgettext("month in a date", "July"),
    pgettext("month in a date", "August"),
    pgettext("month in a date", "September"),
    pgettext("month in a date", "October"),
    pgettext("month in a date", "November"),
    pgettext("month in a date", "December"),
)


def day_in_words(at: datetime) -> Message:
    """Return the day of a time, such as "24 November 2026"."""
    return pgettext(
        "date",
        "%(day)s %(month)s %(year)s",
        day=at.day,
        month=_MONTHS[at.month - 1],
        year=str(at.year),
    )


def moment_in_words(at: datetime) -> Message:
    """Return a time, such as "24 November 2026 at 13:51 UTC"."""
    return _("%(day)s at %(time)s UTC", day=day_in_words(at), time=f"{at:%H:%M}")
