"""What the OpenAPI document says of logins by a code from an email."""

from wsgiauth.features.login_codes.code import AskForCode
from wsgiauth.features.login_codes.code_enter import EnterCode
from wsgiauth.openapi.answers import Operation, answer
from wsgiauth.openapi.callers import SESSIONS
from wsgiauth.openapi.objects import NEXT, PROFILE, PROFILE_LOCATION, TOKEN
from wsgiauth.openapi.schemas import obj, text

CODE_REQUEST = obj(
    "CodeRequest",
    detail=text(
        "A sentence for people.",
        examples=[
            "If there is an active account, an email with a code is on its way to its address."
        ],
    ),
    request=text(
        "The secret of this request, which the code needs.",
        examples=["Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE"],
    ),
)

OPERATIONS = {
    AskForCode: {
        "get": Operation(
            "showCode",
            "The page to ask for a code to log in",
            "For browsers. A user who is logged in gets a page that says so instead, unless"
            " `switch` is given.",
            parameters=(NEXT,),
            tag=SESSIONS,
        ),
        "post": Operation(
            "askForCode",
            "Ask for an email with a code to log in",
            "The answer is the same whether there is an account or not.\n\n"
            "If the address of the account was never verified, the email has the link to"
            " choose a new password instead.",
            answers=(answer(202, "The request is accepted.", CODE_REQUEST),),
            browser="303 to `/code/enter`, with a cookie for ten minutes instead of `request`. A"
            " former code of this browser ends. A script of the site gets 202 and the cookie.",
            example={"username": "ada"},
            tag=SESSIONS,
        ),
    },
    EnterCode: {
        "get": Operation(
            "showCodeField",
            "The page with the field for the code",
            "For browsers that have asked for one; others are led to /code.",
            parameters=(NEXT,),
            tag=SESSIONS,
        ),
        "post": Operation(
            "logInByCode",
            "Log in by the code of an email",
            "Returns a token, and sets no cookie.\n\n"
            "If the request carries a valid bearer token, the session of that token ends. A"
            " code works once, for ten minutes and five tries. The code of a registration"
            " creates the account, as its link does at /verify, and logs no client in. After a"
            " 409 or 422, it can still be used.",
            answers=(
                answer(200, "Logged in.", TOKEN),
                answer(201, "The account is created.", PROFILE, Location=PROFILE_LOCATION),
            ),
            browser="`code` alone: 303 to `next` with a cookie, to the second step, or to `/verify`"
            " if the site asks a new user for more. If another tab has used the code, to the page"
            " that says so. With `again`, back to the page; within 30 seconds of the last email,"
            " 429.",
            example={"request": "Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE", "code": "1234 5678"},
            tag=SESSIONS,
        ),
    },
}
