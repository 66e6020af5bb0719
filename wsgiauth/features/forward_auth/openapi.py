"""What the OpenAPI document says of the answers to a proxy."""

from wsgiauth.accounts.names import GROUP_MAX_LENGTH
from wsgiauth.features.forward_auth.check import MAX_GROUPS, MOST_NAMED, MOST_PERMISSIONS, Check
from wsgiauth.openapi.answers import PAGE_POLICY, Answer, Operation
from wsgiauth.openapi.callers import SESSION_OR_KEY, SESSIONS
from wsgiauth.openapi.schemas import array, query, text

OPERATIONS = {
    Check: {
        "get": Operation(
            "checkForProxy",
            "For a proxy: who sent another request, and whether they are admitted",
            "For nginx (`auth_request`), Caddy (`forward_auth`) and Traefik (`forwardAuth`),"
            " which send the headers of each request here first.\n\n"
            "All methods are answered alike.",
            answers=(
                Answer(
                    status=204,
                    about="The caller is admitted. `Remote-User` (the username), `Remote-Id`,"
                    " `Remote-Email` and `Remote-Groups` name the caller, but not for a"
                    " preflight. Commas in names, `%`, and everything outside printable ASCII"
                    " are percent-encoded UTF-8.",
                    headers={
                        "Content-Security-Policy": PAGE_POLICY,
                        "Remote-User": {
                            "description": "The username.",
                            "schema": text(),
                            "example": "ada",
                        },
                        "Remote-Id": {
                            "description": "The id of the user, which never changes.",
                            "schema": text(pattern="^[1-9][0-9]*$"),
                        },
                        "Remote-Email": {
                            "description": "The email address, proven or not: programs must not"
                            " find accounts by it.",
                            "schema": text(),
                        },
                        "Remote-Groups": {
                            "description": "The names of the user's groups, or of those that the"
                            " query chooses, between commas; empty with an API key.",
                            "schema": text(maxLength=MAX_GROUPS),
                        },
                    },
                ),
            ),
            parameters=(
                query(
                    "permission",
                    "A permission that the caller needs; repeated for each of them.",
                    array(
                        text(
                            minLength=3, maxLength=100, pattern="^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$"
                        ),
                        maxItems=MOST_PERMISSIONS,
                    ),
                    example=["reports.read"],
                ),
                query("fresh", "Any value, also none: the session must be fresh.", text()),
                query(
                    "second_factor",
                    "Any value, also none: a second factor must have proven the session.",
                    text(),
                ),
                query(
                    "groups",
                    "The groups that Remote-Groups can have, in any letter case; without it, all."
                    " Write each as in that header, where names are percent-encoded, and then"
                    " encode it for the query.",
                    array(text(minLength=1, maxLength=GROUP_MAX_LENGTH), maxItems=MOST_NAMED),
                    style="form",
                    explode=False,
                    example=["editors"],
                ),
                query(
                    "preflight",
                    "Admits a CORS preflight without a user: OPTIONS in X-Forwarded-Method, with"
                    " Origin and Access-Control-Request-Method.",
                    text(const="pass"),
                ),
                {
                    "name": "X-Forwarded-Method",
                    "in": "header",
                    "description": "The method of the original request. Without it, with one that"
                    " is not safe, or for a WebSocket, the cookie counts only from the same"
                    " origin.",
                    "schema": text(),
                    "example": "GET",
                },
                {
                    "name": "X-Forwarded-Uri",
                    "in": "header",
                    "description": "The path and query of the original request. With it, browsers"
                    " are redirected to log in or to confirm.",
                    "schema": text(),
                    "example": "/reports?year=1843",
                },
                {
                    "name": "X-Forwarded-Host",
                    "in": "header",
                    "description": "The host of the original request, with its port. If it is in"
                    " NEXT_HOSTS, browsers are redirected to the login at PUBLIC_URL, and"
                    " back. With COOKIE_DOMAIN, Origin must name it for the cookie to count"
                    " with a method that is not safe.",
                    "schema": text(),
                    "example": "files.example.org",
                },
                {
                    "name": "X-Forwarded-Proto",
                    "in": "header",
                    "description": "The scheme of the original request, which Origin must have"
                    " likewise. Without it, the scheme of this request.",
                    "schema": text(),
                    "example": "https",
                },
            ),
            tag=SESSIONS,
            security=SESSION_OR_KEY,
            unmet=(401,),
        )
    },
}
