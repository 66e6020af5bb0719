"""What the OpenAPI document says of the metrics."""

from wsgiauth.features.metrics.accepting import OPENMETRICS, PLAIN
from wsgiauth.features.metrics.metrics import Metrics
from wsgiauth.openapi.answers import Answer, Operation, Tag
from wsgiauth.openapi.callers import SESSION_OR_KEY
from wsgiauth.openapi.schemas import text

OPERATION = Tag("operation", "For those who run the site.")

OPERATIONS = {
    Metrics: {
        "get": Operation(
            "getMetrics",
            "The figures of the site, for Prometheus",
            "For a caller with the permission `wsgiauth.metrics`, usually by an API key.\n\n"
            "Figures of the database are at least 15 seconds apart;"
            " `wsgiauth_figures_age_seconds` is the age of the oldest. A figure that takes too"
            " long to count is missing.",
            answers=(
                Answer(
                    status=200,
                    about="The metrics: OpenMetrics if `Accept` names it, otherwise the text"
                    " format of Prometheus.",
                    content={
                        PLAIN: text(examples=['wsgiauth_users{state="active"} 42.0\n']),
                        OPENMETRICS: text(),
                    },
                ),
            ),
            tag=OPERATION,
            security=SESSION_OR_KEY,
        )
    },
}
