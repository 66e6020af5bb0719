"""What the OpenAPI document says of the health of a process."""

from wsgiauth.features.health.health_live import OK, Live
from wsgiauth.features.health.health_ready import UNAVAILABLE, Ready
from wsgiauth.openapi.answers import JSON, Answer, Operation, Tag, answer
from wsgiauth.openapi.schemas import obj, text

OPERATION = Tag("operation", "For those who run the site.")

_ALIVE = obj("Health", status=text(const=OK))
_NOT_READY = obj("NoHealth", status=text(const=UNAVAILABLE))

OPERATIONS = {
    Live: {
        "get": Operation(
            "showLiveness",
            "Whether the process answers",
            "It does not ask the database. Credentials are ignored.",
            answers=(answer(200, "The process answers.", _ALIVE),),
            tag=OPERATION,
        ),
    },
    Ready: {
        "get": Operation(
            "showReadiness",
            "Whether the process can serve requests",
            "Credentials are ignored.\n\nThe clients of a process share an answer for a second.",
            answers=(
                answer(200, "The database answers.", _ALIVE),
                Answer(
                    status=503,
                    about="The database does not answer a SELECT within 2 seconds, or lacks tables"
                    " of this version.",
                    content={JSON: _NOT_READY},
                ),
            ),
            tag=OPERATION,
        ),
    },
}
