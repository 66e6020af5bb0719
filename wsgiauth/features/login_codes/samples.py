"""An example of each page of the feature."""

from wsgiauth.endpoints.samples import WRONG_CODE
from wsgiauth.features.login_codes.code import CodePage
from wsgiauth.features.login_codes.code_enter import EnterCodePage
from wsgiauth.web.pages import Page

_ASK = CodePage(login_url="/auth/login?next=%2Freports", next="/reports")
_ENTER = EnterCodePage(
    code_url="/auth/code?next=%2Freports",
    login_url="/auth/login?next=%2Freports",
    next="/reports",
    has_code=True,
    can_ask_again=True,
    name="ada",
    change_url="/auth/code?change=1&next=%2Freports",
    wait=30,
)

PAGES: tuple[Page, ...] = (
    _ASK.replaced(
        enter_url="/auth/code/enter",
        username="ada",
        errors={"username": ["Enter your username or email address."]},
        message="There were too many attempts.",
    ),
    _ASK,
    _ENTER.replaced(has_code=False),
    _ENTER.replaced(
        is_registration=True, message="An email was asked for a moment ago.", code="1234"
    ),
    _ENTER.replaced(is_registration=True),
    _ENTER.replaced(message=WRONG_CODE, errors={"code": ["Enter the code."]}),
    _ENTER,
)
