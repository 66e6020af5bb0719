"""What pages with a passkey button share, and the field that the button sends."""

from wsgiauth.web.pages import Page

CREDENTIAL = "credential"


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
