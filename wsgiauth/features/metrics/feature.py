"""What the feature `metrics` declares: see `wsgiauth.feature`."""

from wsgiauth.feature import Feature
from wsgiauth.features.metrics.metrics import PERMISSION, Metrics, require_package
from wsgiauth.features.metrics.questions import QUESTIONS
from wsgiauth.figures.requests import RequestCounts
from wsgiauth.parts import PartFactories
from wsgiauth.settings import Settings


def _parts(settings: Settings) -> PartFactories:
    if not settings.METRICS:
        return {}
    require_package()
    return {RequestCounts: lambda _: RequestCounts()}


FEATURE = Feature(
    name="metrics",
    urls={"/metrics": Metrics()},
    openapi="wsgiauth.features.metrics.openapi",
    permissions=lambda settings: (PERMISSION,) if settings.METRICS else (),
    parts=_parts,
    questions=QUESTIONS,
)
