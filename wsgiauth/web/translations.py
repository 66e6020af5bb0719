"""The messages of templates: `_("...")`, `gettext` and `{% trans %}`; catalogues are yet to come.

Jinja's own functions take each message for HTML, also one with a value in it, as in
`_("Hello " ~ page.username)`. Here only a literal of the template is HTML, and only in a literal
are values filled in: in another message, `%` is a character like any other.
"""

import re

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import EvalContext
from markupsafe import Markup, escape

_BARE = re.compile(r"(?<!%)(?:%%)*%(?![%(])")  # as in "100% sure", where Python reads "% s"


class _Literal(str):
    """A message that is a literal of the template."""

    __slots__ = ()


class LiteralGenerator(CodeGenerator):
    """Marks the messages that are literals of the template."""

    def visit_Call(  # noqa: N802 - Jinja's name
        self, node: nodes.Call, frame: Frame, forward_caller: bool = False
    ) -> None:
        """Generate a call."""
        if isinstance(node.node, nodes.Name) and node.node.name in _FUNCTIONS:
            node.args = [_marked(each) for each in node.args]
        super().visit_Call(node, frame, forward_caller=forward_caller)


def install(environment: jinja2.Environment) -> None:
    """Let an environment that has the extension `i18n` use the functions of this module."""
    environment.code_generator_class = LiteralGenerator
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    environment.extend(literal_message=_Literal)
    environment.globals.update(_FUNCTIONS)


def _marked(argument: nodes.Expr) -> nodes.Expr:
    if isinstance(argument, nodes.Const) and isinstance(argument.value, str):
        mark = nodes.EnvironmentAttribute("literal_message")
        return nodes.Call(mark, [argument], [], None, None, lineno=argument.lineno)
    return argument


@jinja2.pass_eval_context
def _gettext(context: EvalContext, text: str, /, **values: object) -> str:
    return _filled(context, text, values)


@jinja2.pass_eval_context
def _ngettext(context: EvalContext, one: str, many: str, num: int, /, **values: object) -> str:
    return _filled(context, one if num == 1 else many, {"num": num, **values})


@jinja2.pass_eval_context
def _pgettext(context: EvalContext, _about: str, text: str, /, **values: object) -> str:
    return _filled(context, text, values)


@jinja2.pass_eval_context
def _npgettext(
    context: EvalContext, _about: str, one: str, many: str, num: int, /, **values: object
) -> str:
    return _filled(context, one if num == 1 else many, {"num": num, **values})


def _filled(context: EvalContext, text: str, values: dict[str, object]) -> str:
    """Fill in the values; a string that is no literal of the template is itself a value."""
    if not isinstance(text, _Literal):
        return escape(text) if context.autoescape else str(text)
    text = Markup(text) if context.autoescape else str(text)  # noqa: S704 - the template's HTML
    try:
        if _BARE.search(text):
            raise ValueError
        return text % values
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"the text {str(text)!r} needs a value for each name in it, such as"
            ' _("%(number)s books", number=3), and "%%" for "%"'
        ) from None


_FUNCTIONS = {
    "_": _gettext,
    "gettext": _gettext,
    "ngettext": _ngettext,
    "pgettext": _pgettext,
    "npgettext": _npgettext,
}
