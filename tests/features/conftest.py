"""The commands of a site, for what features add to them."""

from tests.cli.conftest import person, wsgiauth

__all__ = ["person", "wsgiauth"]
