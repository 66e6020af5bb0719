"""Values for the examples of pages and emails: see `Feature.pages` and `Feature.letter_samples`.

Provisional, as `wsgiauth.extend`.
"""

from wsgiauth.endpoints.samples import THEN
from wsgiauth.mail.letters import SAMPLE_ROOT

__all__ = ["SAMPLE_ROOT", "THEN"]
