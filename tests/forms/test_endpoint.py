import pytest

from wsgiauth.exceptions import NotFoundError
from wsgiauth.forms.endpoint import require_part


def test_without_a_part_of_the_site_its_url_does_not_exist():
    assert require_part("part") == "part"
    with pytest.raises(NotFoundError):
        require_part(None)
