"""Finds and downloads a source distribution where pip is configured to look, without running any of its code.

pip itself is no way: to download a source distribution it runs the project's build for its metadata.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import requests
from pypi_simple import PYPI_SIMPLE_ENDPOINT
from pypi_simple import DistributionPackage
from pypi_simple import NoSuchProjectError
from pypi_simple import PyPISimple
from pypi_simple import UnsupportedContentTypeError

from pytest_crab.errors import SourceError
from pytest_crab.errors import SourceUnreachable
from pytest_crab.instances.files import file_digest
from pytest_crab.types import SdistSource as Facts

MOST_MIB = 256
_SECONDS = (15, 60)


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look: folders first, then indexes in their order; ``cert`` is a file of trusted authorities."""

    folders: tuple[str, ...]
    indexes: tuple[str, ...]
    cert: str | None


def download(facts: Facts, into: Path, instance_id: str) -> None:
    """Write the archive with the right digest to ``into``.

    Raises SourceUnreachable where no index answers, SourceError where they answer and have it not, or have another.
    """
    places = configured()
    what = f"{instance_id}: the sdist of {facts.name} {facts.version}"
    for path in _local_copies(facts, places.folders):
        shutil.copyfile(path, into)
        if file_digest(into) == facts.sha256:
            return
    found, silent = _fetched(facts, places, into)
    if found is not None:
        _verify(into, facts, f"{what} from {_shown(found[0])}")
        return
    if silent or not places.indexes:
        heard = f"no answer from {', '.join(silent)}" if silent else "no index is configured"
        raise SourceUnreachable(
            f"{what} cannot be reached: {heard}; set PIP_INDEX_URL or PIP_FIND_LINKS to where it is"
        )
    raise SourceError(f"{what} is in none of {', '.join(map(_shown, places.indexes))}; source.sdist should be checked")


def locate(name: str, version: str, into: Path) -> str:
    """Write the archive of a release to ``into``, and return its SHA-256: what is to be written down of it.

    Raises SourceUnreachable where no index answers, SourceError where those that answer have it not.
    """
    anything = Facts(name=name, version=version, sha256="0" * 64, head="", reference="")
    places = configured()
    for path in _local_copies(anything, places.folders):
        shutil.copyfile(path, into)
        return file_digest(into)
    found, silent = _fetched(anything, places, into)
    if found is not None:
        index, package = found
        digest = file_digest(into)
        if package.digests.get("sha256", digest) != digest:
            raise SourceError(f"the sdist of {name} {version} from {_shown(index)} is not what the index says")
        return digest
    if silent or not places.indexes:
        raise SourceUnreachable(
            f"the sdist of {name} {version} cannot be reached: set PIP_INDEX_URL or PIP_FIND_LINKS to where it is "
            f"({', '.join(silent) or 'no index is configured'})"
        )
    raise SourceError(f"{', '.join(map(_shown, places.indexes))} has no sdist (.tar.gz) of {name} {version}")


def _fetched(facts: Facts, places: Places, into: Path) -> tuple[tuple[str, DistributionPackage] | None, list[str]]:
    """Write the archive of the first index that has it to ``into``; that index, its entry, and who did not answer."""
    silent: list[str] = []
    with requests.Session() as session:
        session.verify = places.cert or session.verify
        for index in places.indexes:
            try:
                package = _package(facts, index, session)
                if package is not None:
                    _write(package.url, into, session)
                    return (index, package), silent
            except (requests.RequestException, UnsupportedContentTypeError) as error:
                silent.append(f"{_shown(index)} ({type(error).__name__})")
    return None, silent


def configured() -> Places:
    """Where pip would look, by its environment variables and its configuration files."""
    settings = dict(_pip_files())
    for name in ("index-url", "extra-index-url", "find-links", "cert", "no-index"):
        value = os.environ.get(f"PIP_{name.upper().replace('-', '_')}")
        if value is not None:
            settings[name] = value
    indexes = [settings.get("index-url") or PYPI_SIMPLE_ENDPOINT, *settings.get("extra-index-url", "").split()]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        indexes = []
    return Places(
        folders=tuple(settings.get("find-links", "").split()),
        indexes=tuple(index for index in indexes if index.startswith(("https://", "http://"))),
        cert=settings.get("cert"),
    )


def _pip_files() -> Iterator[tuple[str, str]]:
    """The settings in pip's configuration files, a command's own after the global ones; none without a pip."""
    argv = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    pairs = [line.partition("=") for line in done.stdout.splitlines() if done.returncode == 0]
    for section in ("global", "download"):
        for key, _, value in pairs:
            if key.startswith(f"{section}."):
                yield key.removeprefix(f"{section}."), str(ast.literal_eval(value))


def _package(facts: Facts, index: str, session: requests.Session) -> DistributionPackage | None:
    """The archive's entry in an index: the one with the digest, else one with the name; None if there is neither."""
    client = PyPISimple(endpoint=index, session=session)
    try:
        page = client.get_project_page(facts.name, timeout=_SECONDS)
    except NoSuchProjectError:
        return None
    named = [package for package in page.packages if _matches(package.filename, facts)]
    exact = [package for package in named if package.digests.get("sha256") == facts.sha256]
    return next(iter([*exact, *named]), None)


def _local_copies(facts: Facts, links: Sequence[str]) -> Iterator[Path]:
    """Yield the archives in the local folders that pip is told to look in (find-links), if they are called right."""
    for link in links:
        folder = Path(link.removeprefix("file://"))
        if folder.is_dir():
            yield from sorted(path for path in folder.glob("*.tar.gz") if _matches(path.name, facts))


def _matches(filename: str, facts: Facts) -> bool:
    """Whether a file is called as the source distribution is, however its maker wrote name and version."""
    return _canonical(filename) == _canonical(f"{facts.name}-{facts.version}.tar.gz")


def _canonical(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def _verify(archive: Path, facts: Facts, what: str) -> None:
    if (found := file_digest(archive)) != facts.sha256:
        raise SourceError(f"{what} has sha256 {found}, not {facts.sha256}; source.sdist.sha256 should be checked")


def _write(url: str, into: Path, session: requests.Session) -> None:
    with session.get(url, stream=True, timeout=_SECONDS) as response, into.open("wb") as file:
        response.raise_for_status()
        size = 0
        for block in response.iter_content(1 << 20):
            size += len(block)
            if size > MOST_MIB << 20:
                raise SourceError(f"{_shown(url)} is larger than {MOST_MIB} MiB; that is refused")
            file.write(block)


def _shown(url: str) -> str:
    """An address without the password that it may hold."""
    parts = urlsplit(url)
    return parts._replace(
        netloc=parts.hostname or "" if parts.port is None else f"{parts.hostname}:{parts.port}"
    ).geturl()
