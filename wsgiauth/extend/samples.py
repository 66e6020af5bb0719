"""Values for the examples of pages and emails: see `Feature.pages` and `Feature.letter_samples`.

`THEN` is a moment in UTC. The links of an email begin with `SAMPLE_ROOT`. Provisional, as
`wsgiauth.extend`.
"""

from wsgiauth.endpoints.samples import THEN
from wsgiauth.mail.letters import SAMPLE_ROOT

__all__ = ["SAMPLE_ROOT", "THEN"]
