"""The contrast of two colours, with values that are known from elsewhere."""

import pytest

from wsgiauth.web.colours import BLACK, WHITE, Colour, contrast, is_colour, luminance, mix

TEAL = Colour(0x0B, 0x68, 0x68)


def test_a_colour_is_red_green_and_blue():
    for text, colour in (
        ("#000000", BLACK),
        ("#ffffff", WHITE),
        ("#0b6868", TEAL),
        ("#0B6868", TEAL),
        ("#010203", Colour(1, 2, 3)),
    ):
        assert is_colour(text)
        assert Colour.parse(text) == colour
        assert str(colour) == text.lower()


def test_nothing_else_is_a_colour():
    for text in (
        "",
        "#",
        "0b6868",
        "#abc",
        "#0b68681",
        "#0b68688f",
        "#0b686g",
        "teal",
        "#0b6868\n",
        "#\uff10b6868",
    ):
        assert not is_colour(text)


def test_green_is_most_of_the_luminance():
    for text, expected in (
        ("#000000", 0),
        ("#ffffff", 1),
        ("#ff0000", 0.2126),
        ("#00ff00", 0.7152),
        ("#0000ff", 0.0722),
        ("#808080", 0.2159),
        ("#0a0a0a", 0.0030),  # below the bend of the curve
        ("#0b0b0b", 0.0033),  # above it
    ):
        assert luminance(Colour.parse(text)) == pytest.approx(expected, abs=0.0001)


def test_the_contrast_is_that_of_published_tables():
    for one, other, expected in (
        ("#000000", "#ffffff", 21),
        ("#0b6868", "#0b6868", 1),
        ("#767676", "#ffffff", 4.54),  # the lightest grey that is legible on white
        ("#777777", "#ffffff", 4.48),
        ("#949494", "#ffffff", 3.03),
        ("#ff0000", "#ffffff", 4.00),
        ("#0000ff", "#ffffff", 8.59),
        ("#ffff00", "#000000", 19.56),
    ):
        colours = Colour.parse(one), Colour.parse(other)
        assert contrast(*colours) == pytest.approx(expected, abs=0.005)
        assert contrast(*reversed(colours)) == contrast(*colours)


def test_a_share_of_black_or_white_makes_a_colour_darker_or_lighter():
    for other, share, expected in (
        (BLACK, 0, "#0b6868"),
        (BLACK, 0.25, "#084e4e"),
        (BLACK, 1, "#000000"),
        (WHITE, 0.25, "#488e8e"),
        (WHITE, 1, "#ffffff"),
    ):
        assert str(mix(TEAL, other, share)) == expected
