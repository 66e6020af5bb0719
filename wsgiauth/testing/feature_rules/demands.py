"""The rules for demands: a session that lacks something is anonymous until it has it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

from wsgiauth.accounts.models import User
from wsgiauth.authentication.demands import Demand
from wsgiauth.forms import NEXT
from wsgiauth.testing.feature_rules.scene import BROWSER, GUARDED, MOUNT, Finding, Scene
from wsgiauth.testing.logins import logged_in

if TYPE_CHECKING:
    from webtest import TestApp

_SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


def check_demands(scene: Scene) -> Iterator[Finding]:
    """Yield what an unmet session can do, and what a met one cannot."""
    for demand in scene.feature.demands(scene.site.settings):
        lacks: dict[str, Any] = {demand.keyword: False}
        user = scene.make_user(**lacks)
        browser = logged_in(scene.application, user, **lacks)
        for advice in (
            *_middleware(scene, demand, user, browser),
            *_guard(demand, browser),
            *_way_to_page(demand, browser),
        ):
            yield Finding("demands", demand.error, advice)


def _middleware(scene: Scene, demand: Demand, user: User, browser: "TestApp") -> Iterator[str]:
    """Let the session meet the demand, and lack it again."""
    for is_met in (False, True, False):
        with scene.database():
            demand.arrange(user, None, is_met=is_met)
        seen = browser.get("/").json
        expected = (
            {"user": user.id, "error": None} if is_met else {"user": None, "error": demand.error}
        )
        if seen != expected:
            how = "meets" if is_met else "does not meet"
            yield f"a user who {how} it by `arrange` is {seen} for the application: see `is_met`"


def _guard(demand: Demand, browser: "TestApp") -> Iterator[str]:
    answer = browser.get(GUARDED, headers=_SCRIPT, status="*")
    code = answer.json.get("code") if answer.status_int >= 400 else None
    if code is None:
        yield f"a guard answers {answer.status} to a session that lacks it"
    elif demand.problem is None:
        yield "describe the refusal for programs in `problem`"
    elif demand.problem.status != answer.status_int or code not in demand.problem.codes:
        yield f"`refusal` is {answer.status_int} {code}, and `problem` describes another one"


def _way_to_page(demand: Demand, browser: "TestApp") -> Iterator[str]:
    """Follow the way of a person to the page of the demand."""
    led: Any = browser.get(GUARDED, headers=BROWSER, status="*")
    if led.status_int not in (302, 303):
        yield f"a guard answers {led.status} to a browser, and does not lead to its page"
        return
    page = urlsplit(led.location)
    if page.path != f"{MOUNT}{demand.page}":
        yield f"it leads to {page.path}: name the path below {MOUNT} as `page`, too"
    answer = browser.get(f"{page.path}?{page.query}", headers=BROWSER, status="*")
    if answer.status_int != 200:
        yield f"its page {page.path} answers {answer.status}: make it `reachable`"
        return
    shown: Any = BeautifulSoup(answer.text, "html.parser")
    if not shown.select(f'form[method=post][action="{MOUNT}/logout"]'):
        yield f"its page {page.path} is all that its user reaches: add a form to {MOUNT}/logout"
    if not shown.select(f'form [name={NEXT}][value="{GUARDED}"]'):
        advice = "its form must send the field next, with `submission.destination`"
        yield f"{advice}, and lead there by `destination_after_login`"
