"""Cells of CSV files: no formulas, nothing that is not printable, and the same value again."""

import csv
import io
import itertools

from wsgiauth.features.transfer.cells import read_cell, write_cell

WRITTEN = {
    "usual": ("Zoë", "Zoë"),
    "formula": ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
    "plus": ("+1", "'+1"),
    "minus": ("-2+3", "'-2+3"),
    "at sign": ("@SUM(1)", "'@SUM(1)"),
    "full-width equals": ("\uff1d1", "'\uff1d1"),
    "full-width plus": ("\uff0b1", "'\uff0b1"),
    "full-width minus": ("\uff0d1", "'\uff0d1"),
    "full-width at sign": ("\uff20SUM(1)", "'\uff20SUM(1)"),
    "apostrophe": ("'=1", "''=1"),
    "apostrophe alone": ("'tis", "'tis"),
    "semicolon": ("x;=1", "x;'=1"),
    "semicolon and apostrophe": ("x;'=1", "x;''=1"),
    "control": ("a\x1b[31m\x9b\t", r"a\u{1b}[31m\u{9b}\u{9}"),
    "control first": ("\t=1", r"\u{9}=1"),
    "bidirectional": ("a\u202eb", r"a\u{202e}b"),
    "last plane": ("a\U0010fffd", r"a\u{10fffd}"),
    "looks escaped": (r"a\u{202e}\u{41}", r"a\u{5c}u{202e}\u{5c}u{41}"),
    "backslash": (r"CORP\ursula", r"CORP\ursula"),
}


def test_a_cell_is_no_formula_and_printable():
    cells = {name: cell for name, (_, cell) in WRITTEN.items()}
    assert {name: write_cell(text) for name, (text, _) in WRITTEN.items()} == cells
    texts = {name: text for name, (text, _) in WRITTEN.items()}
    assert {name: read_cell(cell) for name, (_, cell) in WRITTEN.items()} == texts


def test_what_another_program_wrote_is_read_as_it_is():
    cells = [r"\u{41}", r"\u{110000}", r"\u{}", r"CORP\u202e", "'tis", "a'=1"]
    assert [read_cell(cell) for cell in cells] == cells


def test_every_value_is_read_as_it_was_written():
    parts = ["=", "'", ";", "a", "\\", "u{", "5c", "202e", "}", "\u202e", "\n", "\ud800"]
    values = ["".join(each) for size in range(5) for each in itertools.product(parts, repeat=size)]
    cells = [write_cell(each) for each in values]
    assert all(each.isprintable() and not each.startswith("=") for each in cells)
    file = io.StringIO(newline="")
    csv.writer(file).writerows([each] for each in cells)
    file.seek(0)
    assert [read_cell(cell) for (cell,) in csv.reader(file)] == values
