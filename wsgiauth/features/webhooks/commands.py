"""The command `webhooks`, for operators: it lists, tests and sends again."""

import time
from collections.abc import Iterator, Mapping

from wsgiauth.console.command import Arguments, CommandError, open_database, read_settings
from wsgiauth.console.output import print_line, print_list
from wsgiauth.console.parser import Parser
from wsgiauth.events import actors
from wsgiauth.features.webhooks import rows
from wsgiauth.features.webhooks.bodies import written
from wsgiauth.features.webhooks.receivers import Receiver, receivers_of
from wsgiauth.features.webhooks.signing import headers_of
from wsgiauth.storage.models import from_timestamp, utc_now, utc_text

TEST_TYPE = "webhook_test"

_ACTIONS = {
    "list": "list the webhooks that wait or that no receiver has accepted, the oldest first",
    "test": "send a signed test to a URL of WEBHOOKS, and print the status of the answer",
    "resend": "send a webhook again that no receiver has accepted, with all tries",
}
_COLUMNS = {
    "id": "id",
    "event": "event",
    "created": "created_at",
    "URL": "url",
    "next try": "next_try_at",
    "failed tries": "failed_tries",
    "last failure": "failure",
}


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    webhooks = parser.with_actions("webhooks", _ACTIONS)
    webhooks.command("list", print_webhooks, "--json")
    tested = webhooks.command("test", send_test, examples=("https://billing.example/hook",))
    tested.add_argument("url", metavar="URL", help="as in WEBHOOKS, without # and its events")
    resent = webhooks.command("resend", resend, examples=("7",))
    resent.add_argument("id", metavar="ID", help="as `webhooks list` prints it")


def print_webhooks(arguments: Arguments) -> None:
    """Print the rows."""
    receivers = receivers_of(open_database(arguments))
    print_list(_documents(receivers), _COLUMNS, as_json=arguments.json)


def send_test(arguments: Arguments) -> None:
    """Send a test, which no row keeps."""
    from wsgiauth.features.webhooks import sending
    from wsgiauth.outgoing import OutgoingError

    settings = read_settings(arguments)
    urls = [each.url for each in receivers_of(settings).values()]
    if not urls:
        raise CommandError("WEBHOOKS is not set")
    if arguments.url not in urls:  # do not show it: it can have a secret
        raise CommandError("WEBHOOKS does not have this URL; name it without # and its events")
    data = {"user": None, "reason": None, "actor": actors.COMMAND_LINE}
    body = written({"type": TEST_TYPE, "timestamp": utc_text(utc_now()), "data": data})
    headers = headers_of(rows.new_id(), body, keys=settings.WEBHOOK_KEY, now=int(time.time()))
    try:
        status = sending.send(arguments.url, headers, body)
    except OutgoingError as error:
        raise CommandError(f"the receiver did not answer: {error}") from None
    if not 200 <= status < 300:
        raise CommandError(f"the receiver answered with the status {status}")
    print_line(f"The receiver answered with the status {status}.")


def resend(arguments: Arguments) -> None:
    """Let the server send a row anew."""
    receivers, now = receivers_of(open_database(arguments)), int(time.time())
    row = rows.find(arguments.id)
    if row is None:
        raise CommandError("there is no webhook with this id; `webhooks list` prints them")
    if row.destination not in receivers:
        raise CommandError("WEBHOOKS no longer has the URL of this webhook")
    is_soon = row.due_at is not None and row.due_at <= now + rows.LEASE
    if is_soon or not rows.resend(row, now):
        raise CommandError("this webhook is being sent, or will be within a minute")
    print_line("The server sends it within a minute.")


def _documents(receivers: Mapping[str, Receiver]) -> Iterator[list[dict[str, object]]]:
    for page in rows.pages():
        yield [
            {
                "id": each.id,
                "event": each.event,
                "url": receivers[each.destination].url if each.destination in receivers else None,
                "created_at": utc_text(from_timestamp(each.created_at)),
                "next_try_at": None
                if each.due_at is None
                else utc_text(from_timestamp(each.due_at)),
                "failed_tries": each.attempts,
                "failure": each.failure or None,
            }
            for each in page
        ]
