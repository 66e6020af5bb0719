"""What pages with a passkey button share, and the field that the button sends."""

from dataclasses import dataclass
from typing import Any

from wsgiauth.web.pages import Page

CREDENTIAL = "credential"
CREDENTIAL_FIELD: dict[str, Any] = {
    "type": "string",
    "description": "For browsers: the answer to the options that the page has for"
    " `navigator.credentials`, as JSON (`AuthenticationResponseJSON`).",
    "default": "",
}
SAMPLE_OPTIONS = (
    '{"challenge": "", "allowCredentials": [], "userVerification": "required",'
    ' "origin": "https://example.org"}'
)


@dataclass(frozen=True, kw_only=True)
class PasskeyPage(Page):
    """A page that can have a passkey button; only then it has the script.

    Attributes:
        passkey_options: What the browser is asked, as JSON; nothing: there is no button.
    """

    passkey_options: str = ""

    @property
    def script(self) -> str:
        """The script, if there is a button."""
        return "passkeys.js" if self.passkey_options else ""
