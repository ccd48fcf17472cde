"""From its first moment on no group may read a new key but the one that could read the old key."""

import os
import shutil
import stat
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

for _name in (
    "acme.challenges",
    "certbot.cli",
    "certbot.crypto_util",
    "certbot.plugins.common",
    "certbot.plugins.disco",
):
    # storage does not need them to write files, and they need much themselves
    sys.modules[_name] = MagicMock()

from certbot import storage  # noqa: E402

GROUP = 54321


class Disk:
    """Watches a new key: its real mode, and the group that it was given, which only root could really do."""

    def __init__(self, monkeypatch, path, old, refuse):
        self.refuse = refuse
        self.path = path
        self.old = old
        self.given = set()
        self.exposed = []
        for module, name in [
            (os, "open"),
            (os, "chmod"),
            (os, "fchmod"),
            (os, "write"),
            (os, "fdopen"),
            (os, "chown"),
            (os, "fchown"),
            (os, "lchown"),
            (shutil, "chown"),
        ]:
            monkeypatch.setattr(module, name, self.watched(name, getattr(module, name)))
        real = os.stat

        def with_group(path, *args, **kwargs):
            found = real(path, *args, **kwargs)
            if not isinstance(path, int) and os.path.realpath(path) == old:
                fields = list(found)
                fields[stat.ST_GID] = GROUP
                return os.stat_result(fields)
            return found

        self.real = real
        monkeypatch.setattr(os, "stat", with_group)

    def watched(self, name, function):
        def call(*args, **kwargs):
            if "chown" in name:
                if self.refuse:
                    raise PermissionError(1, "Operation not permitted")
                if GROUP in [*args[1:], *kwargs.values()]:
                    self.given.add(self.real(args[0]).st_ino)
                return None
            result = function(*args, **kwargs)
            self.look(name)
            return result

        return call

    def mode(self):
        return stat.S_IMODE(self.real(self.path).st_mode)

    def has_group(self):
        """Whether the file was given the group, perhaps under another name."""
        return self.real(self.path).st_ino in self.given

    def look(self, name):
        """The key may lie under another name beside its own before it is renamed."""
        folder = os.path.dirname(self.path)
        for path in (os.path.join(folder, entry) for entry in os.listdir(folder)):
            if path == self.old or os.path.basename(path).startswith(("cert", "chain", "fullchain")):
                continue
            found = self.real(path)
            if stat.S_IMODE(found.st_mode) & (0o007 if found.st_ino in self.given else 0o077):
                self.exposed.append((name, oct(stat.S_IMODE(found.st_mode))))


@pytest.fixture
def renew(monkeypatch, tmp_path):
    """Makes a lineage whose key has a mode, renews it, and tells what was seen."""
    folder = os.path.realpath(tmp_path)
    config = SimpleNamespace(
        renewal_configs_dir=os.path.join(folder, "renewal"),
        default_archive_dir=os.path.join(folder, "archive"),
        live_dir=os.path.join(folder, "live"),
        namespace=SimpleNamespace(),
        rsa_key_size=2048,
    )
    monkeypatch.setattr(storage, "relevant_values", lambda values: {})
    lineage = storage.RenewableCert.new_lineage("example.org", b"cert", b"key 1", b"chain", config)
    archive = os.path.join(folder, "archive", "example.org")
    old = os.path.join(archive, "privkey1.pem")
    new = os.path.join(archive, "privkey2.pem")
    assert stat.S_IMODE(os.stat(old).st_mode) == 0o600

    def run(mode, refuse=False):
        os.chmod(old, mode)
        disk = Disk(monkeypatch, new, old, refuse)
        before = os.umask(0)
        try:
            lineage.save_successor(1, b"cert 2", b"key 2", b"chain 2", config)
        except PermissionError:
            assert refuse
            return disk
        finally:
            os.umask(before)
        with open(new, "rb") as file:
            assert file.read() == b"key 2"
        return disk

    run.lineage, run.config, run.archive = lineage, config, archive
    return run


@pytest.mark.parametrize("mode", [0o640, 0o660, 0o670, 0o610])
def test_the_key_is_never_readable_for_another_group(renew, mode):
    disk = renew(mode)
    assert disk.exposed == []
    assert disk.has_group(), "the new key did not get the group of the old one"
    assert disk.mode() == mode


def test_a_key_for_its_owner_stays_one(renew):
    disk = renew(0o600)
    assert disk.exposed == []
    assert disk.mode() == 0o600


@pytest.mark.parametrize("mode, expected", [(0o644, 0o640), (0o604, 0o600), (0o440, 0o640)], ids=oct)
def test_nothing_but_the_permissions_of_the_group_is_kept(renew, mode, expected):
    disk = renew(mode)
    assert disk.exposed == []
    assert disk.mode() == expected


def test_a_group_that_cannot_be_given_gets_no_permissions(renew):
    disk = renew(0o640, refuse=True)
    assert disk.exposed == []
    assert not os.path.exists(disk.path) or not disk.mode() & 0o077


def test_a_key_that_stays_is_still_a_link(renew):
    renew.lineage.save_successor(1, b"cert 2", None, b"chain 2", renew.config)
    new = os.path.join(renew.archive, "privkey2.pem")
    assert os.readlink(new) == "privkey1.pem"
