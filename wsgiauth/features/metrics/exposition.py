"""The metrics as text, in the formats of Prometheus. Only this module imports `prometheus_client`.

A metric is a figure of the database, which every process has alike, or of the answering process. No
label has a name, an address or a URL.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from wsgiauth.features.metrics.accepting import accepted_format
from wsgiauth.figures import Figures, Value
from wsgiauth.figures.requests import RequestCounts, started_at
from wsgiauth.site import Site

_PREFIX = "wsgiauth_"
_COUNTER = "_total"  # the end of the names of counters


class Declared(NamedTuple):
    """A metric."""

    name: str
    meaning: str
    label: str = ""


class _OfProcess(NamedTuple):
    """A metric of the answering process."""

    name: str
    meaning: str
    measure: Callable[[Site], Value]
    label: str = ""


_OF_PROCESS = (
    _OfProcess(
        "hash_slots_free",
        "Passwords that this process could begin to hash now.",
        lambda site: site.hash_slots.free,
    ),
    _OfProcess(
        "requests_total",
        "Requests that this process has answered, by the class of the status.",
        lambda site: site.require(RequestCounts).numbers(),
        "status",
    ),
    _OfProcess(
        "process_start_time_seconds",
        "When this process began to count, in seconds since the epoch.",
        lambda site: started_at(),
    ),
)
_AGE = Declared("figures_age_seconds", "Seconds since the oldest figure of the database was read.")


def declared_metrics(site: Site) -> list[Declared]:
    """Return all metrics of a site, those of the database first."""
    of_database = site.require(Figures).declared
    found = [Declared(each.name, each.meaning, each.label) for each in of_database]
    found += [_AGE, *(Declared(each.name, each.meaning, each.label) for each in _OF_PROCESS)]
    return [each._replace(name=_PREFIX + each.name) for each in found]


def exposition(site: Site, accept: str) -> tuple[bytes, str]:
    """Return the metrics and their content type.

    Args:
        accept: The header of the request.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    registry = CollectorRegistry()
    registry.register(_Collector(site))
    encode, content_type = choose_encoder(accepted_format(accept))
    return encode(registry), content_type


class _Collector:
    """A collector of prometheus_client."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def describe(self) -> list[Metric]:
        """Return nothing, so that the registry does not collect to learn the names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; figures that could not be counted in time are missing."""
        figures = self._site.require(Figures)
        reading = figures.read()
        for figure in figures.declared:
            if figure.name in reading.values:
                yield _family(
                    figure.name, figure.meaning, reading.values[figure.name], figure.label
                )
        yield _family(_AGE.name, _AGE.meaning, reading.age)
        for each in _OF_PROCESS:
            yield _family(each.name, each.meaning, each.measure(self._site), each.label)


def _family(name: str, meaning: str, value: Value, label: str = "") -> Metric:
    kind = CounterMetricFamily if name.endswith(_COUNTER) else GaugeMetricFamily
    family = kind(_PREFIX + name, meaning, labels=[label] if label else [])
    if isinstance(value, (int, float)):
        family.add_metric([], value)
        return family
    for of_label, number in value.items():
        family.add_metric([of_label], number)
    return family
