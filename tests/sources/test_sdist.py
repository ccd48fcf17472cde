"""Pull requests on source distributions, from a small index on this machine."""

from __future__ import annotations

import functools
import hashlib
import http.server
import importlib.util
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_crab.ecosystems.distributions import read_settings
from pytest_crab.errors import SourceError, SourceUnreachable
from pytest_crab.sources import fetcher_for, sdist
from pytest_crab.types import Instance, SdistSource, Source

Members = dict[str, bytes | tarfile.TarInfo]
PROJECT: Members = {
    "shop_cart-1.0/shop.py": b"one\ntwo\n",
    "shop_cart-1.0/PKG-INFO": b"Name: shop-cart\n",
    "shop_cart-1.0/setup.py": b"raise SystemExit('no code of a project runs here')\n",
}


def archive(path: Path, members: Members) -> str:
    """Write a .tar.gz and return its digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                tar.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def link(target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo()
    info.type = kind
    info.linkname = target
    return info


def without_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpack as an early Python without filters does, and without the warning that a late one then gives."""
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    monkeypatch.setattr(tarfile.TarFile, "extraction_filter", staticmethod(lambda member, _: member), raising=False)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's pip configuration, and an index that does not answer."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """An index that has shop-cart 1.0, its page without digests; yields its address."""
    folder = tmp_path / "index"
    archive(folder / "files" / "shop_cart-1.0.tar.gz", PROJECT)
    page = folder / "simple" / "shop-cart"
    page.mkdir(parents=True)
    links = "".join(
        f'<a href="../../files/{name}">{name}</a>'
        for name in ("shop_cart-1.0-py3-none-any.whl", "shop_cart-1.0.tar.gz")
    )
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple/"
        server.shutdown()
        thread.join()


@pytest.fixture
def released(instance: Instance, tmp_path: Path) -> Instance:
    return on_archive(instance, archive(tmp_path / "sdists" / "shop_cart-1.0.tar.gz", PROJECT))


def on_archive(instance: Instance, sha256: str, name: str = "shop-cart") -> Instance:
    facts = SdistSource(name=name, version="1.0", sha256=sha256, head="head.diff", reference="reference.diff")
    return replace(instance, source=Source(sdist=facts))


def test_an_index_gives_the_archive_and_the_cache_keeps_it(
    instance: Instance, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = tmp_path / "index" / "files" / "shop_cart-1.0.tar.gz"
    wanted = on_archive(instance, hashlib.sha256(served.read_bytes()).hexdigest())
    monkeypatch.setenv("PIP_INDEX_URL", index)
    snapshot = fetcher_for(wanted).fetch(wanted, tmp_path / "cache")
    assert snapshot.read(snapshot.base, "shop.py") == b"one\ntwo\n"
    assert snapshot.read(snapshot.head_tree, "shop.py") == b"one\ntoo\n"
    assert snapshot.read(snapshot.reference_tree, "shop.py") == b"one\nthree\n"
    served.unlink()
    snapshot.folder.rename(tmp_path / "pruned")
    assert fetcher_for(wanted).fetch(wanted, tmp_path / "cache") == snapshot


def test_another_digest_is_a_source_error(
    instance: Instance, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index)
    wanted = on_archive(instance, "0" * 64)
    with pytest.raises(SourceError, match=r"shop-7: the sdist of shop-cart 1.0 from .* has sha256 .*, not 0000"):
        fetcher_for(wanted).fetch(wanted, tmp_path / "cache")
    assert not list((tmp_path / "cache" / "sdists").iterdir())


def test_a_release_that_is_not_there_is_a_source_error(
    instance: Instance, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index)
    wanted = on_archive(instance, "0" * 64, name="other")
    with pytest.raises(SourceError, match=r"shop-7: the sdist of other 1\.0 is in none of http://127"):
        fetcher_for(wanted).fetch(wanted, tmp_path / "cache")


def test_an_index_that_does_not_answer_is_unreachable(
    released: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:9/simple/")
    with pytest.raises(SourceUnreachable, match=r"no answer from http://127\.0\.0\.1:9/simple/") as caught:
        fetcher_for(released).fetch(released, tmp_path / "cache")
    assert "secret" not in str(caught.value)


def test_find_links_serve_without_an_index(released: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(tmp_path / "wrong" / "shop-cart-1.0.tar.gz", {"shop_cart-1.0/shop.py": b"other\n"})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", f"{tmp_path}/none {tmp_path}/wrong file://{tmp_path}/sdists")
    snapshot = fetcher_for(released).fetch(released, tmp_path / "cache")
    assert snapshot.read(snapshot.base, "shop.py") == b"one\ntwo\n"


def test_without_any_index_the_source_is_unreachable(
    released: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    with pytest.raises(SourceUnreachable, match="no index is configured"):
        fetcher_for(released).fetch(released, tmp_path / "cache")


def test_places_are_pips_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: Callable[[str, str], NoReturn]
) -> None:
    if importlib.util.find_spec("pip") is None:
        without("pip", "this environment has no pip, whose settings are read")
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://one.example/simple\nextra-index-url = https://two.example/simple file:///three\n"
        "cert = /ca.pem\nfind-links = /wheels\n[download]\nfind-links = /other\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.delenv("PIP_CERT", raising=False)
    places = read_settings("https://usual.example/simple")
    assert places.indexes == ("https://one.example/simple", "https://two.example/simple")
    assert places.folders == ("/other",)
    assert places.cert == "/ca.pem"
    monkeypatch.setenv("PIP_INDEX_URL", "https://mine.example/simple")
    assert read_settings("https://usual.example/simple").indexes == (
        "https://mine.example/simple",
        "https://two.example/simple",
    )


def test_the_identity_is_known_without_the_archive(released: Instance) -> None:
    source = released.source.sdist
    assert source is not None
    identity = fetcher_for(released).identity(released)
    assert identity["sha256"] == source.sha256
    assert set(identity) == {"kind", "history", "sha256", "head", "reference"}


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize(
    "members",
    [
        {"../out": b"x"},
        {"top/../../out": b"x"},
        {"/tmp/crab-out": b"x", "top/a": b"x"},
        {"top/link": link("/etc"), "top/link/x": b"x"},
        {"top/link": link("../.."), "top/link/x": b"x"},
        {"top/pipe": link("", tarfile.FIFOTYPE)},
        {"a/x": b"x", "b/x": b"x"},
        {"x": b"x"},
        {},
    ],
)
def test_an_archive_cannot_write_elsewhere(
    tmp_path: Path,
    members: Members,
    *,
    filtered: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not filtered:
        without_filters(monkeypatch)
    archive(tmp_path / "a.tar.gz", members)
    into = tmp_path / "deep" / "into"
    into.mkdir(parents=True)
    with pytest.raises(SourceError, match="the archive"):
        sdist.unpack(tmp_path / "a.tar.gz", into, "the archive")
    assert not Path("/tmp/crab-out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["into"]


@pytest.mark.parametrize("filtered", [True, False])
def test_files_keep_whether_they_are_executable(
    tmp_path: Path,
    *,
    filtered: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not filtered:
        without_filters(monkeypatch)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        for name, mode in (("top/run", 0o755), ("top/read", 0o644)):
            info = tarfile.TarInfo(name)
            info.mode = mode
            tar.addfile(info)
    (tmp_path / "into").mkdir()
    top = sdist.unpack(tmp_path / "a.tar.gz", tmp_path / "into", "the archive")
    assert [bool((top / name).stat().st_mode & 0o100) for name in ("run", "read")] == [True, False]


def test_a_bomb_is_refused_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdist, "MOST_MIB", 1)
    archive(tmp_path / "a.tar.gz", {"top/small": b"x", "top/zeros": bytes((1 << 20) + 1)})
    (tmp_path / "into").mkdir()
    with pytest.raises(SourceError, match=r"holds over .* 1 MiB"):
        sdist.unpack(tmp_path / "a.tar.gz", tmp_path / "into", "the archive")
    assert not (tmp_path / "into" / "top" / "zeros").exists()


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdist, "MOST_MEMBERS", 2)
    archive(tmp_path / "a.tar.gz", {f"top/{number}": b"" for number in range(3)})
    (tmp_path / "into").mkdir()
    with pytest.raises(SourceError, match="over 2 files"):
        sdist.unpack(tmp_path / "a.tar.gz", tmp_path / "into", "the archive")


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\x00"])
def test_what_is_no_archive_is_a_source_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(content)
    (tmp_path / "into").mkdir()
    with pytest.raises(SourceError, match="the archive cannot be unpacked"):
        sdist.unpack(tmp_path / "a.tar.gz", tmp_path / "into", "the archive")
