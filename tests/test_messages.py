"""Messages: English strings that know their parts."""

import copy
import json
import pickle

from markupsafe import Markup, escape

from wsgiauth.messages import (
    Joined,
    Message,
    _,
    list_of,
    ngettext,
    of_application,
    pgettext,
    speaking,
)


class Loud:
    """A language of which nothing but its messages is known."""

    def say(self, text):
        return str(text).upper() if isinstance(text, Message) else text

    def html(self, text):
        return escape(self.say(text))


def test_a_message_is_its_english_string():
    message = _("%(name)s is taken.", name="<Ada>")
    assert message == "<Ada> is taken."
    assert f"{message}" == str(message) == "<Ada> is taken."
    assert type(str(message)) is str
    assert json.dumps(message) == '"<Ada> is taken."'
    assert {message: 1}["<Ada> is taken."] == 1


def test_a_number_chooses_the_form_and_is_written_with_separators():
    texts = {0: "0 keys", 1: "1 key", 2: "2 keys", 1000: "1,000 keys"}
    assert {each: ngettext("%(num)s key", "%(num)s keys", each) for each in texts} == texts


def test_only_numbers_are_written_in_another_way():
    assert _("%(a)s %(b)s %(c)s", a="1000", b=True, c=1000.5) == "1000 True 1000.5"


def test_a_context_is_not_shown():
    assert pgettext("a month", "May") == "May"
    assert pgettext("a month", "May").context == "a month"


def test_two_percent_signs_are_one():
    assert _("100%% sure") == "100% sure"


def test_several_messages_are_one():
    assert Joined([_("One."), "Two."]) == "One. Two."
    assert Joined([]) == ""
    assert list_of(["a", _("b"), "c"]) == "a, b, c"


def test_a_text_of_the_application_is_shown_as_it_is():
    for text in ("100% sure", "%(name)s", "%%", ""):
        assert of_application(text) == text


def test_a_message_of_the_application_stays_one():
    message = _("Too short.")
    assert of_application(message) is message


def test_a_page_shows_it_escaped_in_its_language():
    message = _("%(name)s is taken", name="<i>")
    assert escape(message) == Markup("&lt;i&gt; is taken")
    with speaking(Loud()):
        assert escape(message) == Markup("&lt;I&gt; IS TAKEN")
        assert Markup("<b>%s</b>") % message == "<b>&lt;I&gt; IS TAKEN</b>"
    assert escape(message) == Markup("&lt;i&gt; is taken")


def test_a_copy_is_the_string():
    message = _("Too short.")
    pickled = pickle.loads(pickle.dumps(message))  # noqa: S301
    for copied in (copy.copy(message), copy.deepcopy(message), pickled):
        assert copied == "Too short."
        assert type(copied) is str
