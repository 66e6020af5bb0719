"""What the feature `health` declares: see `wsgiauth.feature`."""

from wsgiauth.feature import Feature
from wsgiauth.features.health.health_live import Live
from wsgiauth.features.health.health_ready import Ready
from wsgiauth.settings.features import load
from wsgiauth.storage.readiness import Readiness

FEATURE = Feature(
    name="health",
    urls={"/health/live": Live(), "/health/ready": Ready()},
    openapi="wsgiauth.features.health.openapi",
    parts=lambda settings: {Readiness: lambda _: Readiness(load(settings.FEATURES))},
)
