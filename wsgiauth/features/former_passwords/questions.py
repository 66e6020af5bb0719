"""What `check` asks about the former passwords."""

from collections.abc import Iterator

from wsgiauth.feature import Finding, Question
from wsgiauth.features.former_passwords.counts import count_former
from wsgiauth.features.former_passwords.site_passwords import count_methods, missing_for
from wsgiauth.messages import counted
from wsgiauth.site import Site


def _former_passwords(site: Site) -> Iterator[Finding]:
    former = count_former()
    if former:
        listed = ", ".join(f"{users} {scheme}" for scheme, users in former.items())
        number = sum(former.values())
        have = "has" if number == 1 else "have"
        yield Finding(
            f"{counted(number, 'user')} {have} not logged in since the import, and {have} former"
            f" passwords: {listed}.",
            is_risk=False,
        )


def _unverifiable(site: Site) -> Iterator[Finding]:
    pepper = site.settings.FORMER_PEPPER
    for missing in sorted({missing_for(each, pepper) or "" for each in count_methods()} - {""}):
        yield Finding(f"Former passwords of some users cannot be verified without {missing}.")


QUESTIONS = (Question(_former_passwords), Question(_unverifiable))
