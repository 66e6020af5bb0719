"""What the endpoints of several rooms answer and take, for the OpenAPI document."""

from wsgiauth.openapi.schemas import (
    Optional,
    array,
    boolean,
    header,
    integer,
    nullable,
    obj,
    parameter,
    query,
    row_id,
    text,
    time,
)
from wsgiauth.openapi.strings import EMAIL, LABEL, USERNAME

WAITING_LOGIN = parameter(
    "WaitingLogin",
    query(
        "login",
        "Which of several pending logins of this browser, as the redirect names it; by default the"
        " newest.",
        text(),
        example="019a31c5b0d28f3e",
    ),
)

NEXT = parameter(
    "Next",
    query(
        "next",
        "Where the browser goes afterwards: a path of this site, or an https URL of a host in"
        " NEXT_HOSTS, of at most 8192 characters, perhaps with a query and a fragment. Anything"
        " else is ignored.",
        text(),
        example="/reports?year=1843",
    ),
)

PROFILE_LOCATION = header(
    "ProfileLocation",
    "The address of the new account's profile.",
    text(pattern="^/.*/me$"),
    example="/auth/me",
)

CLEARED_COOKIE = header(
    "ClearedCookie",
    "Deletes the cookie.",
    text(pattern="^[^=;]+=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax(; Secure)?$"),
)

DETAIL = obj("Detail", detail=text("A sentence for people.", examples=["Logged out."]))

TOKEN = obj(
    "Token",
    access_token=text(
        "A JWT (RFC 7519), opaque to clients.",
        pattern="^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$",
    ),
    token_type=text(const="bearer"),
    expires_in=integer("Lifetime of the token in seconds.", minimum=1, examples=[3600]),
    refresh_token=Optional(
        text("Only if the login asked for one. For /refresh alone; each use replaces it.")
    ),
    restriction=Optional(
        {
            "description": "Only where the site demands a second factor that the session lacks:"
            " the token then permits only its set-up at /totp or /passkeys, or a code at"
            " /confirm; with `second_factor_switched_off`, nothing. Every other request is"
            " refused with this code.",
            "enum": [
                "insufficient_user_authentication",
                "second_factor_setup_required",
                "second_factor_switched_off",
            ],
        }
    ),
)

LOGIN = obj(
    "Login",
    handle=text("Names the session; not a credential.", pattern="^[0-9a-f]{16}$"),
    is_current=boolean("Whether it is the session of this request."),
    ended_by=nullable(
        text(
            "Why it has ended: a refresh token was used twice, so a copy of it may exist. Null: it"
            " is valid.",
            enum=["refresh_reused", None],
        )
    ),
    created_at=time("When it began."),
    last_seen_at=nullable(
        time(
            "When it was last used, as far as is known. Null: the use of this kind of session is"
            " not recorded."
        )
    ),
    expires_at=time("When it ends if it is not used."),
    ends_at=time("When it ends even if it is used."),
    address=nullable(text("The client's address when it began.")),
    browser=text("The browser and the system, in words.", examples=["Firefox on Windows"]),
    methods=array(
        text(), "How the user proved their identity: names of RFC 8176.", examples=[["pwd"]]
    ),
)
PROFILE = obj(
    "Profile",
    id=row_id(),
    username=USERNAME,
    label=LABEL,
    email=EMAIL,
    email_verified=boolean(
        "Whether a link of this site, an operator or a provider with `link=verified` has proven"
        " exactly this address."
    ),
    is_active=boolean("Whether the user can log in."),
    is_staff=boolean("Whether the user is a member of the staff."),
    is_superuser=boolean("Whether the user has every permission, listed or not."),
    created_at=time("In UTC.", pattern="Z$", examples=["2026-03-01T09:30:00Z"]),
    permissions=array(
        text(
            maxLength=100, pattern="^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$", examples=["reports.publish"]
        ),
        "The user's permissions in alphabetical order, each `<app>.<action>`.",
        uniqueItems=True,
    ),
    groups=array(
        text(examples=["Editors"]),
        "The names of the user's groups, in alphabetical order. With an API key, none.",
        uniqueItems=True,
    ),
    has_password=boolean(
        "Whether the user has a password. One without logs in by another provider or a passkey."
    ),
    language=text(
        "The language of the user's pages and emails; an empty string if none has been chosen.",
        maxLength=35,
        examples=["en"],
    ),
)
DONE = obj("Done", detail=text("What happened."), next=text("Where to go."))
