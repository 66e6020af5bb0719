"""Commands that list and disconnect accounts of providers."""

from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.console.command import Arguments, CommandError, open_database, require_user
from wsgiauth.console.output import print_line, print_list
from wsgiauth.console.parser import Parser
from wsgiauth.exceptions import RequestError
from wsgiauth.feature import ways_in_of
from wsgiauth.features.providers import provider_logins
from wsgiauth.features.providers.identities import list_identities
from wsgiauth.features.registry import features_of

_COLUMNS = {
    "id": "id",
    "provider": "provider",
    "issuer": "issuer",
    "subject": "subject",
    "name": "name",
    "connected": "connected_at",
    "last used": "last_used_at",
}


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    parser.command("identities", print_identities, "user", "--json", examples=("ada --json",))
    added = parser.command(
        "unlink",
        disconnect,
        "user",
        examples=("ada 3",),
        details="It refuses if the user could not log in any more with the settings of this"
        " environment.",
    )
    added.add_argument("id", metavar="ID", help="as `identities` lists it")


def print_identities(arguments: Arguments) -> None:
    """Print the accounts of providers that a user has connected, the oldest first."""
    open_database(arguments)
    listed = [each.document() for each in list_identities(require_user(arguments.user))]
    print_list([listed], _COLUMNS, as_json=arguments.json)


def disconnect(arguments: Arguments) -> None:
    """Disconnect an account of a provider, and revoke its sessions."""
    settings = open_database(arguments)
    user = require_user(arguments.user)
    listed = {each.id: each for each in list_identities(user)}
    if arguments.id not in listed:
        raise CommandError(f"{user} has no account {arguments.id}; `identities` lists them")
    ways_in = WaysIn(ways_in_of(features_of(settings)), settings)
    try:
        provider_logins.disconnect(user, arguments.id, ways_in)
    except RequestError:  # 409
        raise CommandError(
            f"with these settings, {user} has no other way to log in: set a password with"
            " `changepassword`, or let the user set one by a link of `resetlink`; or use"
            " `deactivate`"
        ) from None
    found = listed[arguments.id]
    print_line(
        f"Disconnected {found.name} of {found.provider} from {user}, and revoked the sessions that"
        " began or were confirmed with it."
    )
