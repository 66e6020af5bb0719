"""The rules for the HTML of a page: each example breaks one."""

import pytest

from wsgiauth.testing.feature_rules.markup import faults

POLICY = "default-src 'none'; style-src 'self'; img-src 'self' https://images.example.org"
PAGE = """<!doctype html>
<html lang="en">
  <head><title>Books</title><link rel="icon" href="data:image/svg+xml,x"></head>
  <body>
    <h1>Books</h1>
    <ul role="list"><li><bdi>Emma</bdi></li></ul>
    <form method="post">
      <label for="title">Title</label>
      <input id="title" name="title" aria-invalid="true" aria-describedby="why" autofocus>
      <p id="why">Enter a title.</p>
      <label><input type="checkbox" name="rare"> Rare</label>
      <input name="note" aria-label="Note">
      <input type="hidden" name="account" value="x">
      <input name="username" autocomplete="username" hidden>
      <button><img src="https://images.example.org/a.png" alt="Save"></button>
      <button hidden></button>
    </form>
  </body>
</html>"""


def of(html):
    return [*faults(html, POLICY)]


def test_a_page_that_keeps_the_rules_has_no_faults():
    assert of(PAGE) == []


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        (' lang="en"', "", "give <html> the attribute lang"),
        ("<h1>Books</h1>", "", "give the page one <h1>: fill the block title of the layout"),
        ("<title>Books</title>", "<title></title>", "give the page a <title>"),
        ('<p id="why">', '<p id="why"></p><p id="why">', "use the id 'why' once"),
        ('name="note"', 'name="note" autofocus', "give one field the attribute autofocus"),
        (
            "<li>",
            '<li dir="auto">',
            "put the name in li into <bdi>, instead of the attribute dir",
        ),
        (' role="list"', "", "give <ul> the attribute role=list, for screen readers"),
        ('<label for="title">Title</label>', "", "give the field 'title' a <label>"),
        (' aria-label="Note"', "", "give the field 'note' a <label>"),
        (' alt="Save"', ' alt=""', "give <button> words, or aria-label"),
        (
            "<button hidden>",
            '<button>x</button><img src="/a.png">',
            'give <img src="/a.png"/> the attribute alt; empty if it only decorates',
        ),
        (
            'name="note"',
            'name="note" list="notes"',
            "no element has the id 'notes' that list of"
            ' <input aria-label="Note" list="notes" name="note"/> names',
        ),
        (
            "Enter a title.",
            "",
            "let aria-describedby of the field 'title' name its error",
        ),
        (
            "<h1>",
            "<script>x()</script><h1>",
            "the Content-Security-Policy blocks this <script>: do without",
        ),
        (
            "<h1>",
            "<style>p {}</style><h1>",
            "the Content-Security-Policy blocks this <style>: do without",
        ),
        (
            "<h1>",
            '<h1 style="color: red">',
            'the Content-Security-Policy blocks the style or handler of <h1 style="color: red">',
        ),
        (
            "<button hidden>",
            '<button hidden onclick="x()">',
            'the Content-Security-Policy blocks the style or handler of <button hidden=""'
            ' onclick="x()">',
        ),
        (
            "<h1>",
            '<iframe src="/x"></iframe><h1>',
            "the Content-Security-Policy blocks <iframe>: do without",
        ),
        (
            "data:image/svg+xml,x",
            "//cdn.example/a.svg",
            "the Content-Security-Policy blocks //cdn.example/a.svg: serve it from the site",
        ),
        ("<h1>", "<!-- x --><h1>", "do not send the comments or the code of the template"),
    ],
    ids=[
        "no language",
        "no heading",
        "no title",
        "an id twice",
        "two fields with the focus",
        "the direction of a block",
        "a list without a role",
        "a field without a label",
        "a field without a name",
        "a button without a name",
        "an image without a text",
        "an id that is not there",
        "a field without its error",
        "a script",
        "a style sheet",
        "a style",
        "a handler",
        "a frame",
        "an image from elsewhere",
        "a comment",
    ],
)
def test_a_fault_is_found(old, new, advice):
    assert old in PAGE
    assert advice in of(PAGE.replace(old, new, 1))
