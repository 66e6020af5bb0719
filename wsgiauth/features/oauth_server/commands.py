"""The command `client`, whose actions create, list, change and remove clients."""

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from wsgiauth.accounts.names import typed
from wsgiauth.authentication.scopes import STANDARD
from wsgiauth.console.command import (
    Arguments,
    CommandError,
    UsageError,
    open_database,
    require_group,
)
from wsgiauth.console.output import (
    print_change,
    print_error,
    print_json_line,
    print_line,
    print_list,
    with_encoding,
    yes_or_no,
)
from wsgiauth.console.parser import Parser, positive
from wsgiauth.console.prompts import confirm
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.client_files import (
    exported_clients,
    import_clients,
    read_clients,
)
from wsgiauth.features.oauth_server.clients import ALGORITHMS, ClientFields, ListedClient
from wsgiauth.features.oauth_server.scopes import DEFAULT
from wsgiauth.features.oauth_server.self_registered import count_all_users, find_matching
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.messages import counted
from wsgiauth.settings import Settings
from wsgiauth.storage.models import utc_text
from wsgiauth.web.uris import find_equal

_ACTIONS = {
    "list": "list all clients by name",
    "show": "print a client",
    "add": "create a client, and print its id and its secret: the secret is not shown again",
    "change": "change a client",
    "secret": "print a new secret of a client; the former one stays valid, too",
    "remove": "remove a client or several ones, and end all that they got from users",
    "export": "print the clients that operators created as JSON, with digests of their secrets",
    "import": "create or change the clients in a file of `export`: the same ids and secrets",
}
_COLUMNS = {
    "id": "id",
    "name": "name",
    "kind": "kind",
    "trusted": "is_trusted",
    "registered itself": "registered_itself",
    "last used": "last_used_at",
    "group": "group",
    "redirect URIs": "redirect_uris",
}
_SELF_REGISTERED = {
    "id": "id",
    "name": "name",
    "registered": "registered_by",
    "last used": "last_used_at",
    "allowed by": "user_count",
    "redirect URIs": "redirect_uris",
}
_DEFAULT = "default"
_REPLACES = "; replaces all former ones, an empty string: with none"
_UNNAMED_SCOPES = f"{' '.join(STANDARD)}, and permissions of a service"
_MOST_NAMED = 5  # apps in a question


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    client = parser.with_actions("client", _ACTIONS)
    listed = client.command("list", print_clients, "--json", examples=("--self-registered",))
    listed.add_argument(
        "--self-registered",
        action="store_true",
        help="only the apps that have registered themselves",
    )
    shown = client.command("show", print_client, "--json", examples=("ID --json",))
    added = client.command(
        "add",
        add_client,
        "--json",
        examples=(
            "Wiki --redirect https://wiki.example.org/callback",
            "Report --service --scope reports.read",
        ),
        details="Redirect URIs begin with https://, or with http:// and 127.0.0.1, [::1] or"
        " localhost; those of a public client can also have a scheme such as"
        " com.example.app:. A login with OpenID Connect needs the scope openid. A trusted"
        " public client needs URIs on web servers. With --json: id is the client_id, and"
        " secret the client_secret or null.",
    )
    added.add_argument("name", metavar="NAME", type=typed, help="the name of the app, for people")
    _add_lists(added, is_new=True)
    kind = added.add_mutually_exclusive_group()
    kind.add_argument(
        "--public",
        action="store_true",
        help="the app has no secret, because it is on a phone, a computer or a page of its users",
    )
    kind.add_argument(
        "--service",
        action="store_true",
        help="a program that logs in as itself, without a user: give it permissions as scopes",
    )
    changed = client.command(
        "change",
        change_client,
        examples=("ID --redirect https://wiki.example.org/callback",),
        details="--redirect and --scope replace all former values. The kind of a client, such as"
        " --public, cannot change.",
    )
    changed.add_argument("--name", metavar="NAME", type=typed, help="the new name")
    for option in ("--public", "--service"):
        changed.add_argument(option, action="store_true", help=argparse.SUPPRESS)
    _add_lists(changed, is_new=False)
    renewed = client.command(
        "secret",
        renew_secret,
        examples=(
            "ID",
            "ID --end-former",
        ),
        details="A third secret is refused, because it would end the first.",
    )
    renewed.add_argument(
        "--end-former", action="store_true", help="end the former secret; print no new one"
    )
    removed = client.command(
        "remove",
        remove_client,
        "--yes",
        examples=(
            "ID --yes",
            "--self-registered --matching 'Free*' --unused-since 30",
        ),
    )
    removed.add_argument("id", metavar="ID", nargs="?", help="the client_id")
    removed.add_argument(
        "--self-registered",
        action="store_true",
        help="remove apps that have registered themselves: those that --matching finds",
    )
    removed.add_argument(
        "--matching",
        metavar="PATTERN",
        help="the name, a host or the client_id, with * for any characters, in any letter case",
    )
    removed.add_argument(
        "--unused-since",
        metavar="DAYS",
        type=positive,
        help="only apps that got no tokens for so many days",
    )
    client.command("export", export_clients, examples=("> clients.json",))
    read = client.command(
        "import",
        import_file,
        examples=("clients.json",),
        details="It takes the whole file or nothing; the groups that it names must exist. Clients"
        " that are not in the file stay as they are.",
    )
    read.add_argument("file", metavar="FILE", help="as `export` prints it; - reads standard input")
    for each in (shown, changed, renewed):
        each.add_argument("id", metavar="ID", help="the client_id")
    for each in (added, changed):
        each.add_argument(
            "--logout-uri",
            metavar="URI",
            help="where to send a logout token when a session has ended; an empty string: nowhere",
        )
        each.add_argument(
            "--alg",
            choices=(_DEFAULT, *ALGORITHMS),
            help="what signs its ID tokens, instead of the last key of SERVICE_KEYS",
        )
        each.add_argument(
            "--url",
            metavar="URL",
            help="where users open the app, which /auth/apps links; an empty string: no link",
        )
        each.add_argument(
            "--audience",
            metavar="SERVICE",
            action="append",
            help="with --service: a service of SERVICES, about whose tokens the program can ask"
            f" /auth/introspect; repeat it for several{'' if each is added else _REPLACES}",
        )
    group = "let only members of this group in"
    added.add_argument("--group", metavar="GROUP", help=group)
    which = changed.add_mutually_exclusive_group()
    which.add_argument("--group", metavar="GROUP", help=group)
    which.add_argument("--no-group", action="store_true", help="let every user in")
    without_pkce = (
        "accept requests without PKCE, but only with nonce, state and openid; the risk: if the app"
        " does not compare the nonce of the ID token with its own, a stolen code logs a thief in"
    )
    added.add_argument("--without-pkce", action="store_true", help=without_pkce)
    pkce = changed.add_mutually_exclusive_group()
    pkce.add_argument(
        "--without-pkce", action="store_true", default=None, dest="without_pkce", help=without_pkce
    )
    pkce.add_argument(
        "--with-pkce", action="store_false", dest="without_pkce", help="demand PKCE again"
    )
    trusted = "do not ask users for their consent: the app belongs to this site"
    added.add_argument("--trusted", action="store_true", help=trusted)
    changed.add_argument("--trusted", action=argparse.BooleanOptionalAction, help=trusted)


def _add_lists(parser: Parser, *, is_new: bool) -> None:
    instead = "" if is_new else "; replaces all former ones"
    parser.add_argument(
        "--redirect",
        metavar="URI",
        action="append",
        help="where a login leads; repeat --redirect for several; compared exactly, except the port"
        f" of a loopback address of a public client{instead}",
    )
    parser.add_argument(
        "--logout-redirect",
        metavar="URI",
        action="append",
        help=f"where a logout that the app began can lead; repeat it for several; compared"
        f" exactly{'' if is_new else _REPLACES}",
    )
    parser.add_argument(
        "--scope",
        metavar="SCOPE",
        nargs="+",
        action="extend",
        help="all that it can ask for: openid, profile, email, groups, offline_access, and"
        f" permissions{instead or '; replaces the default, ' + ' '.join(DEFAULT)}",
    )


def print_clients(arguments: Arguments) -> None:
    """Print all clients by name."""
    open_database(arguments)
    if arguments.self_registered:
        _print_self_registered(as_json=arguments.json)
        return
    listed = clients.list_clients()
    if arguments.json:
        documents = [each.document() for each in listed]
    else:
        documents = [{**each.document(), "group": _group_in_words(each)} for each in listed]
    print_list([documents], _COLUMNS, as_json=arguments.json)


def _print_self_registered(*, as_json: bool) -> None:
    user_counts = count_all_users()
    documents = [
        {**listed.document(), "user_count": user_counts.get(row.id, 0)}
        for row, listed in clients.rows_of_clients()
        if listed.registered_itself
    ]
    print_list([documents], _SELF_REGISTERED, as_json=as_json)


def print_client(arguments: Arguments) -> None:
    """Print one client."""
    open_database(arguments)
    row, listed = _require_client(arguments.id)
    if arguments.json:
        print_json_line(listed.document())
    else:
        _print_fields(row, listed)


def add_client(arguments: Arguments) -> None:
    """Create a client, and print its id and its secret."""
    if not (arguments.redirect or arguments.service):
        raise UsageError("--redirect is needed: where a login leads; only --service has none")
    if arguments.service and not arguments.scope:
        raise UsageError(
            "--service needs --scope, with at least one permission such as reports.read"
        )
    settings = open_database(arguments)
    _note_settings(settings)
    if arguments.service and not settings.SERVICES:
        print_error("note: SERVICES is empty here, so the program gets no token: see `check`")
    _check_algorithm(arguments.alg, settings)
    audiences = _given(arguments.audience) or ()
    made = clients.create(
        arguments.name,
        arguments.redirect or (),
        scopes=arguments.scope or (),
        group=require_group(arguments.group) if arguments.group else None,
        logout_redirects=_given(arguments.logout_redirect) or (),
        is_public=arguments.public,
        is_service=arguments.service,
        is_trusted=arguments.trusted,
        algorithm=_algorithm(arguments.alg),
        logout_uri=arguments.logout_uri or "",
        launch_url=arguments.url or "",
        is_without_pkce=arguments.without_pkce,
        audiences=audiences,
        now=time.time(),
    )
    _note_scopes(made.row)
    _note_url(arguments.url)
    _note_audiences(audiences, settings)
    if arguments.json:
        _row, listed = _require_client(made.row.id)
        print_json_line({**listed.document(), "secret": made.secret or None})
        return
    print_line(f"Created the client {made.row.name}.")
    print_line(f"client_id: {made.row.id}")
    if made.secret:
        print_line(f"client_secret: {made.secret}")
        print_error("note: store the secret now; it is not shown again")


def change_client(arguments: Arguments) -> None:
    """Change a client, and print it."""
    if arguments.public or arguments.service:
        raise UsageError("the kind of a client cannot change: create a new one with `client add`")
    settings = open_database(arguments)
    row, listed = _require_client(arguments.id)
    audiences = _given(arguments.audience)
    of_operators = {
        "--trusted": arguments.trusted,
        "--logout-uri": arguments.logout_uri,
        "--logout-redirect": _given(arguments.logout_redirect),
        "--url": arguments.url,
        "--without-pkce": arguments.without_pkce,
        "--audience": audiences,
    }
    given = [option for option, value in of_operators.items() if value]
    if given and listed.registered_itself:
        raise CommandError(
            f"{row.name} has registered itself; {given[0]} is for apps of `client add`"
        )
    fields = _changed(ClientFields.of(row), arguments)
    _check_algorithm(arguments.alg, settings)
    is_changed = clients.change(row, fields)
    row, listed = _require_client(arguments.id)
    done = f"Changed the client {row.name}."
    print_change(is_changed, f"the client {row.name} is so already.", done=done)
    _print_fields(row, listed)
    if arguments.scope:
        _note_scopes(row)
    _note_url(arguments.url)
    _note_audiences(audiences or (), settings)


def renew_secret(arguments: Arguments) -> None:
    """Print a new secret alone, for scripts; or end the former one."""
    open_database(arguments)
    row, _listed = _require_client(arguments.id)
    if row.is_public:
        raise CommandError(f"{row.name} is a public client, so it has no secret")
    if arguments.end_former:
        state = f"only the newest secret of {row.name} is valid."
        done = f"Ended the former secret of {row.name}."
        print_change(clients.end_former(row), state, done=done)
        return
    end = f"`client secret {row.id} --end-former`"
    if row.former_digest:
        raise CommandError(f"{row.name} has two secrets; end the former one first: {end}")
    print_line(clients.renew_secret(row))
    print_error(f"note: the former secret stays valid until {end}")


def remove_client(arguments: Arguments) -> None:
    """Remove a client, or all that a pattern finds, after a confirmation."""
    is_pattern = arguments.matching is not None
    if is_pattern != arguments.self_registered or is_pattern == (arguments.id is not None):
        raise UsageError(
            "give either the ID of a client, or --self-registered with --matching PATTERN"
        )
    if arguments.unused_since and not is_pattern:
        raise UsageError("--unused-since needs --self-registered and --matching")
    open_database(arguments)
    if is_pattern:
        _remove_matching(arguments)
        return
    row, _listed = _require_client(arguments.id)
    users = counted(clients.count_users(row), "user")
    confirm(arguments, f"Remove the client {row.name}, which {users} allowed to use their account?")
    if not clients.remove(row):
        raise CommandError("the client was removed meanwhile")
    print_line(f"Removed the client {row.name}.")


def _remove_matching(arguments: Arguments) -> None:
    found = find_matching(arguments.matching, arguments.unused_since or 0, time.time())
    if not found:
        print_change(False, "no app that has registered itself matches.")
        return
    names = [_name_with_host(each) for each in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        names.append(f"and {len(found) - _MOST_NAMED} more")
    number = counted(len(found), "self-registered app")
    confirm(arguments, f"Remove {number}: {', '.join(names)}?")
    removed = sum(map(clients.remove, found))
    print_line(f"Removed {counted(removed, 'app')}.")


def _name_with_host(client: Client) -> str:
    host = clients.host_of_app(client)
    return client.name if client.name == host else f"{client.name} ({host})"


def export_clients(arguments: Arguments) -> None:
    """Print all clients as JSON."""
    open_database(arguments)
    print_list([exported_clients()], {}, as_json=True)


def import_file(arguments: Arguments) -> None:
    """Create or change the clients in a file."""
    settings = open_database(arguments)
    _note_settings(settings)
    done = import_clients(read_clients(_text_of(arguments.file)))
    created = counted(done.created, "client")
    print_line(f"Created {created}, changed {done.changed}, and left {done.same} as before.")


def _changed(fields: ClientFields, arguments: Arguments) -> ClientFields:
    """Return the fields of a client with the options of the command."""
    given = {
        "name": arguments.name,
        "redirect_uris": arguments.redirect and tuple(arguments.redirect),
        "scopes": arguments.scope and tuple(arguments.scope),
        "is_trusted": arguments.trusted,
        "algorithm": arguments.alg and _algorithm(arguments.alg),
        "logout_uri": arguments.logout_uri,
        "logout_redirects": _given(arguments.logout_redirect),
        "launch_url": arguments.url,
        "is_without_pkce": arguments.without_pkce,
        "audiences": _given(arguments.audience),
        "group_id": require_group(arguments.group).id if arguments.group else None,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if arguments.no_group:
        changes["group_id"] = None
    if not changes:
        raise UsageError("nothing to change: give at least one option")
    return fields._replace(**changes)


def _given(values: list[str] | None) -> tuple[str, ...] | None:
    """Return the values of an option; none for an empty one, and None without the option."""
    return None if values is None else tuple(filter(None, values))


def _algorithm(chosen: str | None) -> str:
    return "" if chosen in (None, _DEFAULT) else str(chosen)


def _check_algorithm(chosen: str | None, settings: Settings) -> None:
    """Refuse an algorithm that the site has no key for, if the keys can be read here."""
    if not _algorithm(chosen):
        return
    unchecked = f"note: this command did not check that the site has a key for {chosen}"
    if settings.SERVICE_KEYS is None:
        print_error(f"{unchecked}, because SERVICE_KEYS is not set here")
        return
    from wsgiauth.features.services.signed_tokens import SignedTokens  # imports cryptography

    try:
        algorithms = SignedTokens(settings).algorithms
    except ConfigurationError as error:
        print_error(f"{unchecked}: {error}")
        return
    if chosen not in algorithms:
        raise CommandError(
            f"SERVICE_KEYS has no key for {chosen}, only for {', '.join(algorithms)}"
        )


def _note_settings(settings: Settings) -> None:
    if not settings.OAUTH_SERVER:
        print_error("note: OAUTH_SERVER is off here, so no app can use its client")


def _note_scopes(row: Client) -> None:
    # It is no mistake for an OAuth client, such as an MCP client that needs only permissions.
    if not row.is_service and "openid" not in row.scopes.split():
        print_error(
            "note: without the scope openid, the app gets no ID token, so no login with OpenID"
            " Connect works; --scope names all scopes"
        )


def _note_url(url: str | None) -> None:
    if url and url.startswith("http:"):
        print_error("note: the URL begins with http://, so the network can read and change the app")


def _note_audiences(audiences: Iterable[str], settings: Settings) -> None:
    for each in audiences:
        if not find_equal(each, settings.SERVICES):
            print_error(f"note: {each} is not in SERVICES here, so it has no tokens to ask about")


def _require_client(client_id: str) -> tuple[Client, ListedClient]:
    found = clients.find_listed(client_id)
    if found is None:
        raise CommandError(
            f"there is no client with the id {client_id!r}; `client list` lists ids and names"
        )
    return found


def _print_fields(row: Client, listed: ListedClient) -> None:
    """Print a client for a person."""
    fields: dict[str, Iterable[str]] = {
        "client_id": [listed.id],
        "name": [listed.name],
        "kind": [listed.kind],
        "secrets": [str(listed.secrets)],
        "trusted": [yes_or_no(listed.is_trusted)],
        "group": [_group_in_words(listed)],
        "scopes": [" ".join(listed.scopes) or _UNNAMED_SCOPES],
        "redirect URIs": listed.redirect_uris,
        "logout URI": [listed.logout_uri] if listed.logout_uri else [],
        "after logout": listed.logout_redirects,
        "opened at": [listed.launch_url] if listed.launch_url else [],
        "without PKCE": ["yes"] if listed.is_without_pkce else [],
        "asks about": listed.audiences,
        "algorithm": [listed.algorithm or _DEFAULT],
        "created": [utc_text(listed.created_at)],
        "registered": [f"by {listed.registered_by}"] if listed.registered_by else [],
        "last used": [] if listed.last_used_at is None else [utc_text(listed.last_used_at)],
        "ends unused": [] if listed.expires_at is None else [utc_text(listed.expires_at)],
        "allowed by": [counted(clients.count_users(row), "user")],
    }
    if row.is_service:  # no user logs in to it
        for label in ("trusted", "group", "algorithm", "allowed by"):
            del fields[label]
    for label, values in fields.items():
        for value in values:
            print_line(f"{label:13} {value}")


def _group_in_words(listed: ListedClient) -> str:
    if listed.group is None:
        return "everyone"
    return listed.group or "no user: the group was deleted"


def _text_of(name: str) -> str:
    """Return the contents of a file, or of standard input for `-`."""
    try:
        if name == "-":
            return with_encoding(sys.stdin, encoding="utf-8-sig").read()
        return Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{name} is not UTF-8") from None
