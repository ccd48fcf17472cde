"""The third party modules are named as they are imported, not as they are installed."""

import pytest

from mypy import moduleinfo

IMPORTED = ["OpenSSL", "PIL", "attr", "bs4", "dateutil", "skimage", "yaml"]
INSTALLED = ["python-dateutil", "python_dateutil", "pyyaml", "pillow", "pyopenssl", "beautifulsoup4", "scikit_image"]


@pytest.mark.parametrize("name", IMPORTED)
def test_what_is_imported_is_known(name):
    assert moduleinfo.is_third_party_module(name)
    assert moduleinfo.is_third_party_module(name + ".part")


@pytest.mark.parametrize("name", INSTALLED)
def test_what_is_only_installed_is_not(name):
    assert not moduleinfo.is_third_party_module(name)


def test_every_name_can_be_imported():
    wrong = [
        name
        for name in moduleinfo.third_party_modules
        if not all(part.isidentifier() for part in name.split("."))
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["requests", "numpy", "django", "six", "gi.repository"])
def test_the_others_are_still_there(name):
    assert moduleinfo.is_third_party_module(name)
