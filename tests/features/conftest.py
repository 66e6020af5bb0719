"""The fixtures of the kernel's commands and endpoints, for what features add to them."""

from tests.cli.conftest import person, wsgiauth
from tests.endpoints.conftest import heard, letters, make_provider_site

__all__ = ["heard", "letters", "make_provider_site", "person", "wsgiauth"]
