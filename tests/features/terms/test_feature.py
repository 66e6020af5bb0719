"""What the feature declares: the samples of its page, and the field of new users."""

from tests.features.terms.sites import VERSION
from wsgiauth.features.terms.feature import FEATURE


def test_each_sample_of_the_page_is_one_of_its_cases(site):
    pages = FEATURE.pages()
    htmls = [site.site.pages.check(each) for each in pages]
    assert ['name="accept"' in each for each in htmls] == [True, False, True]
    assert ["A rule." in each for each in htmls] == [True, False, False]


def test_the_field_describes_both_values_of_json(site):
    (field,) = FEATURE.registration_fields(site.site.settings)
    assert field.schema()["enum"] == [VERSION, True]
