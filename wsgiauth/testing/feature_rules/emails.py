"""The rules for emails: the examples, and what modules and requests enqueue."""

import ast
import time
from collections.abc import Iterator

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.feature import composers_of
from wsgiauth.mail.letters import Addressed, Letters
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing.feature_rules.scene import Finding, Scene, name_of


def check_emails(scene: Scene) -> Iterator[Finding]:
    """Yield what is wrong with the examples, in each language, and with composers."""
    letters = Letters(scene.site.settings)
    for letter in scene.feature.letter_samples:
        for language in scene.site.pages.readers.languages:
            place = f"{letter.template} in {language.name}"
            try:
                letters.check(letter)
                letters.message(Addressed(letter, "ada@example.org", None, language.name))
            except Exception as error:  # a template is a program, which can raise anything
                yield Finding("emails", place, f"{type(error).__name__}: {error}")
    composers = composers_of(scene.site.features)
    with scene.database():
        waiting = [*Mail.select()]  # of the requests of other rules, and of `fill`
        for mail in waiting:
            compose = composers.get(mail.kind)
            try:
                if addressed := compose and compose(mail, scene.site.settings, time.time()):
                    letters.message(addressed)
            except (peewee.IntegrityError, User.DoesNotExist):  # see `Outbox`
                continue
            except Exception as error:  # of the feature, which can raise anything
                yield Finding("emails", mail.kind, f"{type(error).__name__}: {error}")
    for place, kind in (*_enqueued(scene), *(("the outbox", each.kind) for each in waiting)):
        if kind not in composers:
            yield Finding("emails", place, f"add the composer of {kind!r} to `composers`")


def _enqueued(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield the kinds of emails that modules enqueue, if they are constants of the feature."""
    constants = {
        name_of(name): node.value.value
        for tree in scene.modules.values()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for name in node.targets
    }
    for module, tree in scene.modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node.func) in ("enqueue", "ask_for"):
                named = [each.value for each in node.keywords if each.arg == "kind"]
                for kind in (*node.args[1:2], *named):
                    value = constants.get(name_of(kind))
                    if isinstance(kind, ast.Constant):
                        value = kind.value
                    if isinstance(value, str):
                        yield module, value
