"""The texts of templates: `_("...")`, `gettext` and its siblings, and `{% trans %}`.

Jinja's own functions treat every string as HTML, even `_("Hello " ~ page.username)`. Here only a
literal of the template is HTML with placeholders. In other strings, `%` is a plain character.
"""

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import EvalContext
from markupsafe import escape

from wsgiauth.languages.catalogues import PERCENT_ALONE
from wsgiauth.languages.dates import day_in_words, moment_in_words
from wsgiauth.messages import Message, of_application, said, speaker


class _Literal(str):
    """A string literal of the template."""

    __slots__ = ()


class LiteralGenerator(CodeGenerator):
    """Marks the texts that are literals of the template."""

    def visit_Call(  # noqa: N802 - Jinja's name
        self, node: nodes.Call, frame: Frame, forward_caller: bool = False
    ) -> None:
        """Mark the literals of a call."""
        if isinstance(node.node, nodes.Name) and node.node.name in _FUNCTIONS:
            node.args = [_marked(each) for each in node.args]
        super().visit_Call(node, frame, forward_caller=forward_caller)


def install(environment: jinja2.Environment) -> None:
    """Let an environment with the extension `i18n` use the functions of this module."""
    environment.code_generator_class = LiteralGenerator
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    environment.extend(literal_message=_Literal)
    environment.globals.update(_FUNCTIONS)
    environment.globals.update(day_in_words=day_in_words, moment_in_words=moment_in_words)


def shown(value: object) -> object:
    """Return a value for a template without escaping, with a message in its language."""
    return said(value) if isinstance(value, Message) else value


def _marked(argument: nodes.Expr) -> nodes.Expr:
    if isinstance(argument, nodes.Const) and isinstance(argument.value, str):
        mark = nodes.EnvironmentAttribute("literal_message")
        return nodes.Call(mark, [argument], [], None, None, lineno=argument.lineno)
    return argument


@jinja2.pass_eval_context
def _gettext(context: EvalContext, text: str, /, **values: object) -> str:
    return _filled(context, "", text, "", 1, values)


@jinja2.pass_eval_context
def _ngettext(context: EvalContext, one: str, many: str, num: int, /, **values: object) -> str:
    return _filled(context, "", one, many, num, {"num": num, **values})


@jinja2.pass_eval_context
def _pgettext(context: EvalContext, about: str, text: str, /, **values: object) -> str:
    return _filled(context, about, text, "", 1, values)


@jinja2.pass_eval_context
def _npgettext(
    context: EvalContext, about: str, one: str, many: str, num: int, /, **values: object
) -> str:
    return _filled(context, about, one, many, num, {"num": num, **values})


def _filled(
    context: EvalContext, about: str, text: str, many: str, num: int, values: dict[str, object]
) -> str:
    """Fill the values into a literal of the template. Another string is itself a value."""
    for each in (text, many):
        if not isinstance(each, _Literal) and each:
            chosen = many if many and num != 1 else text
            return _shown_value(context, chosen)
    try:
        if context.autoescape:
            return speaker().markup(text, values, plural=many, number=num, context=about)
        if PERCENT_ALONE.search(text) or PERCENT_ALONE.search(many):
            raise ValueError
        return said(Message(text, values, plural=many, number=num, context=about))
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"the text {str(text)!r} needs a value for each name in it, such as"
            ' _("%(number)s books", number=3), and "%%" for "%"'
        ) from None


def _shown_value(context: EvalContext, value: str) -> str:
    if not hasattr(value, "__html__"):
        value = of_application(value)
    return escape(value) if context.autoescape else str(shown(value))


_FUNCTIONS = {
    "_": _gettext,
    "gettext": _gettext,
    "ngettext": _ngettext,
    "pgettext": _pgettext,
    "npgettext": _npgettext,
}
