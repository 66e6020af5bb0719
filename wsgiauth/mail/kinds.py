"""Every kind of mail, and the outbox that sends them all."""

from collections.abc import Mapping
from pathlib import PurePath

from wsgiauth.mail import link_letters, notices
from wsgiauth.mail.letters import Letter, Letters
from wsgiauth.mail.outbox import Composer, Outbox
from wsgiauth.mail.transports import Transport, make_transport
from wsgiauth.settings import Settings

COMPOSERS: Mapping[str, Composer] = {
    **link_letters.COMPOSERS,
    **notices.COMPOSERS,
}
SAMPLES: tuple[Letter, ...] = (
    *link_letters.SAMPLES,
    *notices.SAMPLES,
)
SAMPLES_BY_NAME: Mapping[str, list[Letter]] = {
    PurePath(template).stem: [each for each in SAMPLES if each.template == template]
    for template in dict.fromkeys(each.template for each in SAMPLES)
}


def make_outbox(settings: Settings, send_mail: Transport | None = None) -> Outbox | None:
    """Return the outbox of a site; None without MAIL_URL.

    Args:
        settings: The configuration.
        send_mail: The application's own transport.

    Raises:
        ConfigurationError: A template of a mail is wrong, or MAIL_URL needs a `send_mail`.
    """
    transport = make_transport(settings, send_mail)
    if transport is None:
        return None
    letters = Letters(settings)
    # Our own templates are tested; one letter shows whether the settings make headers.
    for sample in SAMPLES if settings.TEMPLATES else SAMPLES[:1]:
        letters.check(sample)
    return Outbox(settings, transport, COMPOSERS)
