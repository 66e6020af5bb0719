"""Sphinx: the pages as one site, with a reference of the public Python names: `make docs`.

The pages are written to be read on their own, so what only the site needs is added here. The README
is its first page, and the list of the documentation there is its table of contents.
"""

import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
import textwrap
from dataclasses import fields
from html import escape
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType

import django
from django.conf import settings
from docutils import nodes
from sphinx import addnodes
from sphinx.domains.python import PyObject, PyXRefRole
from sphinx.ext.napoleon import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.logging import getLogger

import wsgiauth.contrib
from wsgiauth import extend
from wsgiauth.cli import all_commands
from wsgiauth.version import __version__

project = html_title = "wsgiauth"
author = project_copyright = "The wsgiauth authors"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/*.rst", "docs/**/README.md"]
exclude_patterns = [".*", "artefacts", "build", "tests", "wsgiauth"]  # large folders, not to search
exclude_patterns += ["docs/examples/*/*/**"]  # data of the examples
myst_heading_anchors = 4

default_role = "code_or_name"
autodoc_default_options = {
    "members": True,
    # Up to these classes, which are Python's or have nothing for applications.
    "inherited-members": (
        "ArgumentParser, BaseException, BoundModel, Client, ClientMixin, Declared, Enum, Field,"
        " Mapping, Model, RequestFactory, SessionAuthentication, list, tuple"
    ),
}
autodoc_member_order = "bysource"
napoleon_use_ivar = True
python_maximum_signature_line_length = 88

nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(argparse|collections\.abc|datetime|email|http|os|pathlib|wsgiref|TestApp)\b.*"),
    ("py:.*", r"(peewee|webob|webtest|django|flask|pyramid)\..*|(User|Group)\.DoesNotExist"),
    ("py:exc", "ImproperlyConfigured|PermissionDenied"),  # Django's
    ("py:.*", r"(User|Group)Objects|wsgiauth\.(.*\._\w+|features\.factors\.totp\.Totp)"),
    # Of objects that a site makes, as `tests/test_extend.py` knows.
    ("py:class", r"_Row|_Parameters|wsgiauth\.(accounts|authentication|forms|throttling|web)\..*"),
]

html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("search.js"))

copybutton_prompt_text = "$ "  # and only the lines with it, if there is one

START = (
    "Build [a site in twenty minutes](docs/guide.md), add accounts to"
    " [your framework](docs/frameworks.md), [move an existing site](docs/migration.md), or look up"
    " a [setting](docs/settings.md) or a [URL](docs/endpoints.md)."
)

SENTENCE = 35  # characters
SETTINGS = {each.name for each in fields(wsgiauth.Settings)}

# The pages and sections that moved, each with its page or section of today.
MOVED = dict(line.split() for line in Path(__file__).with_name("moved.txt").open(encoding="utf-8"))
SECTION_LEADS_ON = """\
<script>
  const moved = {moved}[location.hash];
  if (moved) location.replace(moved);
</script>
"""
LEADS_ON = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>This page has moved</title>
<link rel="canonical" href="{page}">
<script>location.replace({moved}[location.hash] || "{page}" + location.hash)</script>
<noscript><meta http-equiv="refresh" content="0; url={page}{anchor}"></noscript>
<p>This page has moved: <a href="{page}{anchor}">{page}</a></p>
</html>
"""

# What people search for in words that the title of the section does not have.
KEYWORDS = dict(
    line.rstrip("\n").split(": ")
    for line in Path(__file__).with_name("keywords.txt").open(encoding="utf-8")
)
# The section of each command that is not in the table at the top.
COMMAND_SECTIONS = {
    **dict.fromkeys(("import", "export"), "#importing-and-exporting-users"),
    **dict.fromkeys(("creategroup", "deletegroup", "groups"), "#groups-and-permissions"),
    **dict.fromkeys(("grant", "revoke", "permissions", "join", "leave"), "#groups-and-permissions"),
    "client": "#clients",
    "serve": "#serve-an-application",
}
for command in all_commands():
    target = f"docs/command-line{COMMAND_SECTIONS.get(command, '')}"
    KEYWORDS[target] = ", ".join([*filter(None, [KEYWORDS.get(target)]), command])

ROOT = Path(__file__).parents[1]
CONTRIB = pkgutil.iter_modules(wsgiauth.contrib.__path__, "wsgiauth.contrib.")
MODULES = [
    "wsgiauth",
    *("wsgiauth.exceptions", "wsgiauth.events", "wsgiauth.testing"),
    *(each.name for each in CONTRIB),
    *("wsgiauth.contrib.django.testing", "wsgiauth.contrib.django.rest"),
]
# For features. The docstring of each describes the names that have none of their own.
DOORS = [
    "wsgiauth.extend",
    *sorted(each.name for each in pkgutil.iter_modules(extend.__path__, "wsgiauth.extend.")),
]
MODULES += DOORS


# Django's models can be imported only in a project.
APPS = ["django.contrib.contenttypes", "django.contrib.auth", "wsgiauth.contrib.django"]
settings.configure(INSTALLED_APPS=[each for each in APPS if find_spec(each)])
django.setup()


def public_names(module):
    """Return the public names of a module: those in `__all__`, or those that it defines."""
    if hasattr(module, "__all__"):
        return set(module.__all__)
    return {
        name
        for name, found in vars(module).items()
        if getattr(found, "__module__", None) == module.__name__ and not name.startswith("_")
    }


OBJECTS = {
    f"{name}.{public}": getattr(module, public)
    for name, module in zip(MODULES, map(importlib.import_module, MODULES), strict=True)
    for public in public_names(module)
}
for full_name, found in OBJECTS.items():  # a module can import its names on their first use
    module, _, name = full_name.rpartition(".")
    setattr(sys.modules[module], name, found)

# What is neither a class nor a function, such as a proxy, which cannot be asked outside a request.
DATA = sorted(each for each in OBJECTS if not issubclass(type(OBJECTS[each]), type | FunctionType))
FIRST = {id(found): name for name, found in reversed(OBJECTS.items())}  # where it is described
UNDESCRIBED = {each for each in DATA if each.rpartition(".")[0] in DOORS} | {"wsgiauth.extend._"}


def setup(app):
    """Connect what is below."""
    app.add_role("code_or_name", code_or_name)
    app.connect("source-read", add_contents)
    app.connect("autodoc-skip-member", skip_internal)
    app.connect("autodoc-process-docstring", leave_out_internal, priority=400)  # before napoleon
    app.connect("doctree-read", add_anchors, priority=400)  # before the table of contents
    app.connect("doctree-resolved", link_settings)
    app.connect("doctree-resolved", mark_sentences)
    app.connect("doctree-resolved", add_keywords)
    app.connect("doctree-resolved", collect_external_links)
    app.connect("html-page-context", add_description)
    app.connect("html-page-context", lead_sections_on)
    app.connect("build-finished", list_external_links)
    app.connect("build-finished", lead_on)
    (attributes,) = [each for each in PyObject.doc_field_types if each.name == "variable"]
    attributes.label = "Attributes"


def add_contents(app, name, source):
    """Add the table of contents to the first page, and the public modules to the reference."""
    folder = (ROOT / name).parent
    if name == "README":
        chapters = re.search(r"^## Documentation$(.*?)^## ", source[0], re.MULTILINE | re.DOTALL)[1]
        for caption, text in re.findall(r"^\d+\. \*\*(.*?):?\*\*(.*)", chapters, re.MULTILINE):
            source[0] += contents(caption, re.findall(r"\]\(([^):]+)\.md\)", text))
        source[0] = source[0].replace("\n![", f"\n{START}\n\n![", 1)
        source[0] += contents("Look it up", ["docs/reference", "CHANGELOG", "CONTRIBUTING"])
    elif name == "docs/reference":
        for module in MODULES:
            source[0] += f"\n{module}\n{'-' * len(module)}\n\n.. automodule:: {module}\n"
            own = [name for name in OBJECTS if name.rpartition(".")[0] == module]
            data = [name for name in own if name in DATA]
            again = [name for name in own if FIRST[id(OBJECTS[name])] != name]
            if data or again:
                left_out = ", ".join(sorted({name.rpartition(".")[2] for name in data + again}))
                source[0] += f"   :exclude-members: {left_out}\n"
            if module not in DOORS:
                source[0] += "".join(map(described, data))
    elif name == "docs/examples/README":
        source[0] += "\n\n```{toctree}\n:hidden:\n:glob:\n\n*/README\n```\n"
    else:  # a folder is no page
        source[0] = re.sub(
            r"\[([^]]*)\]\(([^)#:]+)\)",
            lambda link: link[1] if (folder / link[2]).is_dir() else link[0],
            source[0],
        )
        source[0] = PICTURE.sub(images, source[0])


PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*'
    r'<img src="([^"]+)" width="(\d+)" alt="([^"]+)">\s*</picture>'
)


def images(picture):
    """Return the directives for a picture in both schemes, which the theme chooses between."""
    dark, light, width, alternative = picture.groups()
    options = f":width: {width}px\n:alt: {alternative}\n"
    return "".join(
        f"\n```{{image}} {path}\n:class: only-{scheme}\n{options}```\n"
        for scheme, path in (("light", light), ("dark", dark))
    )


def described(name):
    """Return the description of an object that has a docstring only in the source."""
    module, _, short = name.rpartition(".")
    for each in sorted(each for each in sys.modules if each.startswith(module)):
        docs = ModuleAnalyzer.for_module(each).find_attr_docs().get(("", short))
        if docs:
            body = "\n".join(GoogleDocstring(docs).lines())
            return f"\n.. py:data:: {short}\n\n" + textwrap.indent(body, "   ") + "\n"
    raise LookupError(f"{name} has no docstring")


def contents(caption, pages):
    """Return a part of the table of contents."""
    return f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"


def code_or_name(role, source, text, line, inliner, options=None, content=()):
    """Return code in single backticks, as a link if it begins with a public name."""
    first, _, rest = text.removeprefix("events.").removesuffix("()").partition(".")
    here = inliner.document.settings.env.ref_context.get("py:module")
    targets = [f"{module}.{first}" for module in (here, *MODULES)]
    target = next((FIRST[id(OBJECTS[each])] for each in targets if each in OBJECTS), None)
    if target is None or target in UNDESCRIBED or not re.fullmatch(r"\w*", rest):
        return [nodes.literal(source, text)], []
    # Attributes are described with their class.
    member = getattr(OBJECTS[target], rest, None) if rest else None
    is_own = f"{getattr(member, '__module__', '')}".startswith("wsgiauth")
    if is_own and getattr(member, "__name__", "") == rest:
        target += f".{rest}"
    return PyXRefRole()("py:obj", source, f"{text} <{target}>", line, inliner)


def skip_internal(app, kind, name, member, skip, options):
    """Leave out members of classes that are no interface of applications."""
    is_field = type(member).__name__ == "_tuplegetter"  # which the class describes
    is_internal = kind == "class" and "Internal" in (inspect.getdoc(member) or "")
    return True if is_field or is_internal or name == "DoesNotExist" else None


def leave_out_internal(app, kind, name, member, options, lines):
    """Leave out attributes of classes that are no interface of applications; mark examples."""
    entry = re.compile(r"^ {4}[\w, ]+: .*(?:\n {8}.*)*\n?", re.MULTILINE)
    text = entry.sub(lambda it: "" if "Internal" in it[0] else it[0], "\n".join(lines) + "\n")
    lines[:] = re.sub("^Example:\n", "Example::\n\n", text, flags=re.MULTILINE).splitlines()


EXTERNAL = set()


def collect_external_links(app, tree, name):
    """Collect the links of a page that lead to other sites."""
    EXTERNAL.update(
        (node["refuri"], name)
        for node in tree.findall(nodes.reference)
        if re.match("https?:", node.get("refuri", ""))
    )


def list_external_links(app, error):
    """List what a build without a network does not check."""
    lines = [f"{url} in {name}\n" for url, name in sorted(EXTERNAL)]
    (Path(app.outdir) / "external-links.txt").write_text("".join(lines), encoding="utf-8")


def add_anchors(app, tree):
    """Give each section the anchor that GitHub gives it, in place of the one of docutils."""
    for section in tree.findall(nodes.section):
        slug = section.get("slug")
        if slug:
            section["ids"] = [slug, *(each for each in section["ids"] if each != slug)]


def link_settings(app, tree, name):
    """Link the names of settings in code, alone or with a value, to their descriptions."""
    for code in list(tree.findall(nodes.literal)):
        setting = code.astext().partition("=")[0]
        if setting in SETTINGS and isinstance(code.parent, nodes.paragraph):
            uri = app.builder.get_relative_uri(name, "docs/settings") + f"#{setting.lower()}"
            code.replace_self(nodes.reference("", "", code.deepcopy(), refuri=uri, internal=True))


def mark_sentences(app, tree, name):
    """Mark the cells of tables that need a wide column."""
    for cell in tree.findall(nodes.entry):
        if len(cell.astext()) > SENTENCE:
            cell["classes"].append("sentence")


def add_keywords(app, tree, name):
    """Let the search find sections by their keywords."""
    ids = {"", *(f"#{each}" for node in tree.findall(nodes.section) for each in node["ids"])}
    for target, keywords in KEYWORDS.items():
        page, anchor = address(target)
        if page == name and anchor not in ids:
            getLogger(__name__).warning("KEYWORDS: there is no section %s", target)
        elif page == name:
            entries = [
                ("single", each, anchor.removeprefix("#"), "main", None)
                for each in keywords.split(", ")
            ]
            tree += addnodes.index(entries=entries)


def add_description(app, name, template, context, tree):
    """Describe a page, for search engines, by the first sentences of its first paragraph."""
    sections = tree.findall(nodes.section) if tree else ()
    paragraphs = [each for section in sections for each in section if is_prose(each)]
    if paragraphs:
        text = " ".join(paragraphs[0].astext().split())
        content = escape(re.match(r".{60,}?[.](?= |$)|.*", text)[0])
        context["metatags"] += f'<meta name="description" content="{content}">'


def is_prose(node):
    """Return whether a node is a paragraph with more than a picture."""
    return isinstance(node, nodes.paragraph) and node.astext() != ""


def lead_sections_on(app, name, template, context, tree):
    """Let the old address of each section that left a page lead to its new one."""
    moved = {}
    for old, new in MOVED.items():
        (page, anchor), (new_page, new_anchor) = address(old), address(new)
        if page == name and anchor:
            moved[anchor] = context["pathto"](new_page).rstrip("#") + new_anchor
    if moved:
        context["metatags"] += SECTION_LEADS_ON.format(moved=json.dumps(moved))


def lead_on(app, error):
    """Let the old address of each page that moved lead to its new one."""
    pages = app.env.found_docs
    for name in [each for each in MOVED if "#" not in each and each not in pages]:
        target, anchor = address(MOVED[name])
        if target not in pages:
            continue
        moved = {}
        for old, new in MOVED.items():
            (old_page, old_anchor), (new_page, new_anchor) = address(old), address(new)
            if old_page == name:
                moved[old_anchor] = _relative(new_page, name) + new_anchor
        page = _relative(target, name)
        html = LEADS_ON.format(page=page, anchor=anchor, moved=json.dumps(moved))
        (Path(app.outdir) / f"{name}.html").write_text(html, encoding="utf-8")


def _relative(page, name):
    """Return the address of a page, seen from another."""
    return os.path.relpath(f"{page}.html", Path(name).parent)


def address(target):
    """Return the page and the anchor, with its #, of a page or section."""
    page, sign, anchor = target.partition("#")
    return page, sign + anchor
