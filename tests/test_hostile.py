"""What holds for every answer, whatever was asked: requests made of anything, by Hypothesis.

And for every path, however it is spelt.
"""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import hostile
from tests.support.sites import USERNAME
from tests.support.spellings import PIECES, PUBLIC, readings
from wsgiauth.gate import PathRules

pytestmark = pytest.mark.uncounted

# The same requests in every run. `make measure NAME=fuzz` tries others, a hundred times as many.
bounded = settings(
    max_examples=100,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def requests(*makers):
    """Return the strategy of what some of the functions in `hostile` make."""
    return st.one_of(st.randoms(use_true_random=False).map(make) for make in makers)


@pytest.fixture(scope="module")
def site():
    """Return a site where Ada is logged in."""
    made = hostile.Site()
    yield made
    made.close()


@pytest.mark.promise(21)
@pytest.mark.parametrize("name", hostile.VARIABLES)
@settings(bounded, max_examples=15)
@given(request=requests(hostile.visit, hostile.json_post), chance=st.randoms())
def test_whatever_a_variable_holds_no_answer_breaks_a_rule(site, name, request, chance):
    request.environ[name] = hostile.variable(chance, name)
    site.check(request, site.answer(request))


@pytest.mark.promise(21)
@bounded
@given(request=requests(*hostile.KINDS))
def test_whatever_is_sent_is_answered_as_http_has_it(site, request):
    hostile.is_http(request, site.answer(request))


@pytest.mark.promise(19)
@bounded
@given(request=requests(hostile.json_post, hostile.form_post))
def test_whatever_is_posted_gets_a_readable_answer(site, request):
    hostile.is_readable(site.answer(request))


@pytest.mark.promise(18)
@bounded
@given(request=requests(hostile.visit, hostile.member_visit, hostile.way_on))
def test_whatever_is_asked_for_a_redirect_stays_on_this_site(site, request):
    hostile.leads_here(site.answer(request))


@pytest.mark.promise(20)
@bounded
@given(request=requests(hostile.visit, hostile.form_post))
def test_whatever_is_sent_is_shown_as_text_only(site, request):
    hostile.shows_text_only(site.answer(request))


@pytest.mark.promise(22)
@bounded
@given(request=requests(hostile.stranger_visit, hostile.member_visit))
def test_nobody_is_identified_without_a_valid_credential(site, request):
    hostile.knows_nobody_else(request, site.answer(request))


@bounded
@given(request=requests(hostile.bearer_visit))
def test_a_valid_token_identifies_whatever_comes_with_it(site, request):
    assert json.loads(site.answer(request).body)["user"] == USERNAME


def paths(*starts):
    """Return the strategy of paths, in any spelling, that begin in one of these ways."""
    pieces = st.lists(st.sampled_from(PIECES) | st.characters(max_codepoint=0xFF), max_size=8)
    return st.builds(lambda start, rest: start + "".join(rest), st.sampled_from(starts), pieces)


@pytest.mark.promise(48)
@settings(bounded, max_examples=400)
@given(path=paths("/pub/", "/pub/", "/pub/", "/", "", "/pub"))
def test_nothing_reads_a_public_path_as_another(path):
    if PathRules(PUBLIC, None, "/auth").needed(path) is None:
        others = {each for each in readings(path) if not f"{each}/".startswith("/pub/")}
        assert others <= {"/"}
        assert not others or path in ("", "/")


@pytest.mark.promise(48)
@settings(bounded, max_examples=400)
@given(path=paths("/pub/", "/", "", "/priv", "/pub"))
def test_no_software_reads_a_path_as_one_that_needs_more(path):
    rules = PathRules(None, {"/priv/": "code.secret"}, "/auth")
    if rules.needed(path) is None:
        assert not {each for each in readings(path) if f"{each}/".startswith("/priv/")}
