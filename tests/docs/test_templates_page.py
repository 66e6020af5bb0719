"""docs/templates.md: its layout changes the pages."""

from tests.docs.pages import PAGES, code, section
from tests.web.pages import PAGES as EXAMPLES
from tests.web.pages import REQUEST
from wsgiauth.web.pages import Pages

PAGE = PAGES["docs/templates.md"]
OWN_STYLE = section(PAGE, "A style of your own")


def test_the_layout_of_the_page_adds_its_elements_to_the_head(tmp_path):
    (layout,) = code(OWN_STYLE, "html")
    (tmp_path / "layout.html").write_text(layout)
    html = Pages("/auth", tmp_path).render(REQUEST, EXAMPLES["login.html"]).body.decode()
    head = html.partition("</head>")[0]
    assert head.endswith(
        '<link rel="stylesheet" href="/static/accounts.css">\n'
        '<meta name="theme-color" content="#7c3aed">\n'
    )
