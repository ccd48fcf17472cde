"""A file that is made for secrets can be read by its owner only, while it is written and afterwards."""

import os
import stat
import sys

import pytest

import dotenv


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder):
    return [path.name for path in folder.iterdir() if stat.S_IMODE(path.stat().st_mode) & 0o077]


class Watching(dict):
    """Values that look at the folder each time one of them is taken."""

    def __init__(self, folder, values):
        super().__init__(values)
        self.folder, self.seen = folder, []

    def look(self):
        self.seen += open_to_others(self.folder)

    def items(self):
        for pair in super().items():
            self.look()
            yield pair

    def __iter__(self):
        for key in super().__iter__():
            self.look()
            yield key

    def keys(self):
        return iter(self)


def test_a_new_file_belongs_to_its_owner_alone(tmp_path):
    path = tmp_path / ".env"
    dotenv.save_dotenv({"TOKEN": "secret"}, path)
    assert oct(stat.S_IMODE(path.stat().st_mode) & 0o077) == oct(0)
    assert dotenv.dotenv_values(path) == {"TOKEN": "secret"}


def test_it_is_never_open_to_others_in_between(tmp_path):
    values = Watching(tmp_path, {"A": "one", "B": "two", "C": "three"})
    dotenv.save_dotenv(values, tmp_path / ".env")
    assert values.seen == []
    assert dotenv.dotenv_values(tmp_path / ".env") == {"A": "one", "B": "two", "C": "three"}


def test_a_loose_umask_makes_no_difference(tmp_path):
    os.umask(0)
    dotenv.save_dotenv({"TOKEN": "secret"}, str(tmp_path / "other.env"))
    assert open_to_others(tmp_path) == []


def test_the_owner_can_read_and_replace_it(tmp_path):
    path = tmp_path / ".env"
    dotenv.save_dotenv({"A": "1"}, path)
    dotenv.save_dotenv({"B": "2"}, path, overwrite=True)
    assert dotenv.dotenv_values(path) == {"B": "2"}
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600
    with pytest.raises(FileExistsError):
        dotenv.save_dotenv({"C": "3"}, path)


watched = {"folder": None, "seen": []}


def look_on_the_way(event, arguments):
    if watched["folder"] is not None and event in {"os.chmod", "os.rename", "os.link"}:
        folder, watched["folder"] = watched["folder"], None
        watched["seen"] += [path.name for path in folder.iterdir() if path.stat().st_size and path.stat().st_mode & 0o077]
        watched["folder"] = folder


sys.addaudithook(look_on_the_way)


@pytest.mark.parametrize("mask", [0o022, 0, 0o002])
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_in_it_is_never_closed_to_others_later(tmp_path, mask, overwrite):
    os.umask(mask)
    watched.update(folder=tmp_path, seen=[])
    try:
        dotenv.save_dotenv({"TOKEN": "secret" * 5000}, tmp_path / ".env", overwrite)
    finally:
        watched["folder"] = None
    assert watched["seen"] == []
    assert open_to_others(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == [".env"]


def test_the_umask_is_as_it_was(tmp_path):
    os.umask(0o027)
    dotenv.save_dotenv({"TOKEN": "secret"}, tmp_path / ".env")
    assert os.umask(0o022) == 0o027
