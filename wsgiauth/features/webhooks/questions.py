"""The questions of `python -m wsgiauth check` about webhooks."""

from collections.abc import Iterator

from wsgiauth.feature import Finding, Question
from wsgiauth.features.webhooks import rows
from wsgiauth.features.webhooks.receivers import receivers_of
from wsgiauth.messages import counted
from wsgiauth.site import Site

MANY = 10_000  # rows of a URL that wait


def _of_commands(site: Site) -> Iterator[Finding]:
    if site.settings.WEBHOOKS:
        yield Finding(
            "WEBHOOKS: a command causes webhooks only if it runs with the same WEBHOOKS and"
            " WEBHOOK_KEY as the server.",
            is_risk=False,
        )


def _many_waiting(site: Site) -> Iterator[Finding]:
    for each in receivers_of(site.settings).values():
        number = rows.count_waiting(each.destination)
        if number >= MANY:
            yield Finding(
                f"{counted(number, 'webhook')} wait for {each.host}: see `webhooks list`."
            )


def _unknown_urls(site: Site) -> Iterator[Finding]:
    known = receivers_of(site.settings)
    unknown = [each for each in rows.destinations() if each not in known]
    number = sum(map(rows.count_waiting, unknown))
    if number:
        yield Finding(
            f"WEBHOOKS no longer has the URLs of {counted(number, 'webhook')}: a server with other"
            " URLs there deletes them after an hour."
        )


QUESTIONS = (
    Question(_of_commands, needs_database=False),
    Question(_many_waiting),
    Question(_unknown_urls),
)
