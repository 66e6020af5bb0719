"""Links in emails: a new password, a proof of an address, and invitations."""

from wsgiauth.feature import Feature
from wsgiauth.mail import link_letters

FEATURE = Feature(
    name="links", composers=link_letters.COMPOSERS, letter_samples=link_letters.SAMPLES
)
