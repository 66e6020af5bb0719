"""Which of the two formats of Prometheus a client accepts."""

OPENMETRICS = "application/openmetrics-text"
PLAIN = "text/plain"


def accepted_format(accept: str) -> str:
    """Return `OPENMETRICS` if the client names it, else `PLAIN`, also for one that names neither.

    The answer has the version of prometheus_client; the versions that a client names do not matter.
    """
    for each in accept.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        if name == OPENMETRICS and "q=0" not in parameters:
            return f"{OPENMETRICS}; version=1.0.0"
    return PLAIN
