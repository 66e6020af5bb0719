"""The declaration of the feature `login_codes`: see `wsgiauth.feature`."""

from collections.abc import Sequence
from functools import partial

from wsgiauth.accounts.tables import CODE, REGISTRATION
from wsgiauth.feature import Feature
from wsgiauth.features.login_codes import letter
from wsgiauth.features.login_codes.code import AskForCode
from wsgiauth.features.login_codes.code_enter import EnterCode
from wsgiauth.features.login_codes.codes import compose_code, compose_registration
from wsgiauth.features.login_codes.confirming import CONFIRMATIONS
from wsgiauth.features.login_codes.parts import LoginCodes, can_log_in
from wsgiauth.features.login_codes.questions import QUESTIONS
from wsgiauth.features.login_codes.registering import CodesOfRegistrations
from wsgiauth.parts import PartFactories
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page


def _parts(settings: Settings) -> PartFactories:
    if not settings.LOGIN_CODES:
        return {}
    return {
        LoginCodes: lambda _: LoginCodes(settings),
        CodesOfRegistrations: lambda _: CodesOfRegistrations(),
    }


def _pages() -> Sequence[Page]:
    from wsgiauth.features.login_codes.samples import PAGES

    return PAGES


FEATURE = Feature(
    name="login_codes",
    urls={"/code": AskForCode(), "/code/enter": EnterCode()},
    openapi="wsgiauth.features.login_codes.openapi",
    parts=_parts,
    pages=_pages,
    way_in=can_log_in,
    is_way_in=lambda settings: settings.LOGIN_CODES,
    composers=lambda factors: {
        CODE: partial(compose_code, factors=factors),
        REGISTRATION: partial(compose_registration, factors=factors),
    },
    letter_samples=letter.SAMPLES,
    confirmations=CONFIRMATIONS,
    questions=QUESTIONS,
)
