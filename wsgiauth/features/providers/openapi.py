"""What the OpenAPI document says of logins with other providers."""

from wsgiauth.features.providers.endpoints.complete import Complete
from wsgiauth.features.providers.endpoints.identities import Identities
from wsgiauth.features.providers.endpoints.oidc import ProviderLogin
from wsgiauth.features.providers.endpoints.oidc_callback import ProviderCallback
from wsgiauth.features.providers.endpoints.oidc_logout import BackChannelLogout
from wsgiauth.openapi.answers import FORM, JSON, Body, Operation, answer, answer_or_page, leads
from wsgiauth.openapi.callers import PERHAPS_COOKIES, PERHAPS_SESSION, SESSIONS
from wsgiauth.openapi.objects import DETAIL, DONE, PROFILE, PROFILE_LOCATION, WAITING_LOGIN
from wsgiauth.openapi.schemas import (
    Optional,
    array,
    boolean,
    in_path,
    obj,
    object_of,
    parameter,
    query,
    text,
    time,
)

PROVIDER = parameter(
    "Provider",
    in_path(
        "provider",
        "The name of a provider in OIDC_PROVIDERS.",
        text(pattern="^[a-z][a-z0-9-]{0,31}$"),
        example="google",
    ),
)
IDENTITIES = obj(
    "Identities",
    identities=array(
        object_of(
            id=text("Names it; not secret."),
            provider=text("The name of its provider in OIDC_PROVIDERS at the last login."),
            issuer=text("The `iss` of its provider."),
            subject=text("Its `sub` at the provider."),
            name=text("What the provider calls it."),
            connected_at=time(),
            last_used_at=time(),
        ),
        "The oldest first.",
        maxItems=10,
    ),
    providers=array(
        object_of(name=text("For `connect`."), title=text("What people call it.")),
        "Those of the site.",
    ),
)

OPERATIONS = {
    Identities: {
        "get": Operation(
            "listIdentities",
            "The caller's accounts of other providers",
            "With the providers of the site. The page needs a fresh session.",
            answers=(answer_or_page("The accounts and the providers.", IDENTITIES),),
        ),
        "post": Operation(
            "changeIdentities",
            "Connect or disconnect an account of another provider",
            "Send `connect` or `disconnect`.\n\n"
            "To connect an account, a browser logs in at its provider.",
            answers=(
                answer(
                    200,
                    "The remaining accounts; or `next`, a page of the provider to `connect`.",
                    {"anyOf": [IDENTITIES, DONE]},
                ),
            ),
            example={"connect": "google"},
        ),
    },
    Complete: {
        "get": Operation(
            "showCompletion",
            "The page for an account of another provider that no user has",
            "For browsers, for 30 minutes after a login at the provider. It creates an account,"
            " leads to the login, or asks a user who is logged in whether to connect both.",
            parameters=(WAITING_LOGIN,),
            security=PERHAPS_SESSION,
        ),
        "post": Operation(
            "completeAccount",
            "Create or connect an account for one of another provider",
            "For scripts of this site, in the browser that has logged in at the provider.\n\n"
            "A user who is logged in needs a fresh session.",
            answers=(
                answer(200, "Connected, or cancelled.", DONE),
                answer(
                    201,
                    "The account is created, and the browser is logged in.",
                    PROFILE,
                    Location=PROFILE_LOCATION,
                ),
                answer(
                    202,
                    "An email with a link is on its way, if the address can have an account. The"
                    " link works only in a browser where the account of the provider is pending.",
                    DETAIL,
                ),
            ),
            browser="303 to the page that the user wanted.",
            parameters=(WAITING_LOGIN,),
            example={"username": "ada"},
            security=PERHAPS_SESSION,
        ),
    },
    ProviderLogin: {
        "post": Operation(
            "beginProviderLogin",
            "Begin a login with another provider",
            "Sets a cookie for the callback, which only this browser can use, once and within"
            " ten minutes.\n\n"
            "Up to five tabs can do so at once.",
            answers=(answer(200, "`next` is a page of the provider.", DONE),),
            browser="303 to the provider.",
            parameters=(PROVIDER,),
            body=Body(
                content={
                    JSON: object_of(
                        next=Optional(
                            text(
                                "Where the browser goes afterwards, as in the query of /login.",
                                default="",
                            )
                        ),
                        remember=Optional(
                            boolean(
                                "Whether the session outlives the browser window.", default=False
                            )
                        ),
                    )
                },
                about="At most 16 KiB, in UTF-8. Further fields are ignored.",
                example={"next": "/reports?year=1843"},
            ),
            tag=SESSIONS,
            security=PERHAPS_SESSION,
        )
    },
    ProviderCallback: {
        "get": Operation(
            "completeProviderLogin",
            "A browser comes back from another provider",
            "For browsers: sets the cookie of the session, or does what the browser went to"
            " the provider for. Register it at the provider as the redirect URI.\n\n"
            "HEAD is not allowed.",
            answers=(
                leads(
                    303,
                    "`Location` is where the login leads; for an account that no user has,"
                    " /complete, unless the entry has `register=at_once` and nothing must be asked."
                    " A new account is then created.",
                ),
            ),
            browser="A failure is a page that leads back to the login. If this browser began it, a"
            " button begins it again.",
            parameters=(
                PROVIDER,
                query(
                    "state",
                    "As the login sent it. It is used once, in the browser that began.",
                    text(),
                ),
                query("code", "The provider's code (RFC 6749, section 4.1.2).", text()),
                query("iss", "The issuer (RFC 9207).", text()),
                query("error", "The provider's error, instead of a code.", text()),
            ),
            tag=SESSIONS,
            security=PERHAPS_COOKIES,
        )
    },
    BackChannelLogout: {
        "post": Operation(
            "endProviderSessions",
            "A provider ends sessions that began there",
            "OpenID Connect Back-Channel Logout 1.0: a form with a `logout_token`, which"
            " counts once.\n\n"
            "Ends the sessions that began or were confirmed with its `sid` or `sub`, and"
            " incomplete logins. After a 503, the token can be sent again. GitHub and Discord"
            " send none.",
            answers=(
                answer(200, "The sessions have ended.", DETAIL),
                answer(
                    400,
                    "The token is refused; the event `provider_failed` says why.",
                    object_of(error=text(const="invalid_request"), error_description=text()),
                ),
            ),
            parameters=(PROVIDER,),
            body=Body(content={FORM: object_of(logout_token=text())}, about="At most 16 KiB."),
            tag=SESSIONS,
        )
    },
}
