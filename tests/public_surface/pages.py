"""Templates with their variables and blocks, the properties of the style, and the macros."""

import inspect
import re
from importlib import import_module

from jinja2 import Environment, nodes

from tests.support.own_templates import OWN
from wsgiauth.mail.letters import Letter, SiteLabel
from wsgiauth.web.pages import Branding, Page

ENVIRONMENT = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)


def lines():
    """Yield the lines of each template, of the variables of all, and of the style."""
    for name, path in OWN.items():
        source = path.read_text(encoding="utf-8")
        yield f"template {name}"
        for variable in variables(source):
            yield f"template {name} | {variable}"
        if path.suffix in (".html", ".txt"):
            yield from parts(f"template {name}", ENVIRONMENT.parse(source))
    for variable, kind in (("page", Page), ("letter", Letter)):
        for name in attributes(kind):
            yield f"template of each {variable} | {variable}.{name}"
    for variable, kind in (("page", Branding), ("letter", SiteLabel)):
        for name in kind._fields:
            yield f"template of each {variable} | site.{name}"
    for name in re.findall(r"^ *(--[\w-]+):", OWN["style.css"].read_text("utf-8"), re.MULTILINE):
        yield f"css {name}"


def variables(source):
    """Yield the attributes of the object that a page or an email shows."""
    named = re.search(r"{# (page|letter): (\S+)\.(\w+)", source)
    if named is None:
        return
    kind = getattr(import_module(f"wsgiauth.{named[2]}"), named[3])
    common = Page if named[1] == "page" else Letter
    for each in kind.__mro__[: kind.__mro__.index(common)]:
        for name in attributes(each):
            yield f"{named[1]}.{name}"


def attributes(kind):
    """Return the public attributes of a class itself."""
    annotated = inspect.get_annotations(kind)
    return [name for name in {*vars(kind), *annotated} if not name.startswith("_")]


def parts(line, template):
    """Yield the lines of the blocks and macros of a template."""
    for block in template.find_all(nodes.Block):
        yield f"{line} | block {block.name}"
    for macro in template.find_all(nodes.Macro):
        yield f"{line} | macro {macro.name}({', '.join(each.name for each in macro.args)})"
