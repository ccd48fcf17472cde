"""Find and download a source distribution where pip is configured to look, without running any of its code.

This does not call ``pip download``, which runs the project's build to get its metadata.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import requests
from packaging.utils import canonicalize_name
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedContentTypeError,
)

from pytest_crab.ecosystems.distributions import IndexSettings, read_settings
from pytest_crab.errors import SourceError, SourceUnreachable
from pytest_crab.instances.files import file_digest
from pytest_crab.types import SdistSource

MOST_MIB = 256
_SECONDS = (15, 60)


def download(facts: SdistSource, into: Path, instance_id: str) -> None:
    """Write the archive with the right digest to ``into``.

    Raises SourceUnreachable where no index answers, SourceError where they answer and have it not, or have another.
    """
    settings = read_settings(PYPI_SIMPLE_ENDPOINT)
    what = f"{instance_id}: the sdist of {facts.name} {facts.version}"
    for path in _local_copies(facts, settings.folders):
        shutil.copyfile(path, into)
        if file_digest(into) == facts.sha256:
            return
    found, silent = _fetch(facts, settings, into)
    if found is not None:
        _verify(into, facts, f"{what} from {_public_url(found[0])}")
        return
    if silent or not settings.indexes:
        heard = f"no answer from {', '.join(silent)}" if silent else "no index is configured"
        raise SourceUnreachable(
            f"{what} cannot be reached: {heard}; set PIP_INDEX_URL or PIP_FIND_LINKS to where it is"
        )
    raise SourceError(
        f"{what} is in none of {', '.join(map(_public_url, settings.indexes))}; source.sdist should be checked"
    )


def locate(name: str, version: str, into: Path) -> str:
    """Write the archive of a release to ``into``, and return its SHA-256.

    Raises SourceUnreachable where no index answers, SourceError where those that answer have it not.
    """
    anything = SdistSource(name=name, version=version, sha256="0" * 64, head="", reference="")
    settings = read_settings(PYPI_SIMPLE_ENDPOINT)
    for path in _local_copies(anything, settings.folders):
        shutil.copyfile(path, into)
        return file_digest(into)
    found, silent = _fetch(anything, settings, into)
    if found is not None:
        index, package = found
        digest = file_digest(into)
        if package.digests.get("sha256", digest) != digest:
            raise SourceError(f"the sdist of {name} {version} from {_public_url(index)} is not what the index says")
        return digest
    if silent or not settings.indexes:
        raise SourceUnreachable(
            f"the sdist of {name} {version} cannot be reached: set PIP_INDEX_URL or PIP_FIND_LINKS to where it is "
            f"({', '.join(silent) or 'no index is configured'})"
        )
    raise SourceError(f"{', '.join(map(_public_url, settings.indexes))} has no sdist (.tar.gz) of {name} {version}")


def _fetch(
    facts: SdistSource, settings: IndexSettings, into: Path
) -> tuple[tuple[str, DistributionPackage] | None, list[str]]:
    """Write the archive to ``into``; return the index with its entry, and the indexes that did not answer."""
    silent: list[str] = []
    with requests.Session() as session:
        session.verify = settings.cert or session.verify
        for index in settings.indexes:
            try:
                package = _find_package(facts, index, session)
                if package is not None:
                    _write(package.url, into, session)
                    return (index, package), silent
            except (requests.RequestException, UnsupportedContentTypeError) as error:
                silent.append(f"{_public_url(index)} ({type(error).__name__})")
    return None, silent


def _find_package(facts: SdistSource, index: str, session: requests.Session) -> DistributionPackage | None:
    """Return the archive's entry in an index: the one with the digest, else one with the name, else None."""
    client = PyPISimple(endpoint=index, session=session)
    try:
        page = client.get_project_page(facts.name, timeout=_SECONDS)
    except NoSuchProjectError:
        return None
    named = [package for package in page.packages if _is_sdist_of(package.filename, facts)]
    exact = [package for package in named if package.digests.get("sha256") == facts.sha256]
    return next(iter([*exact, *named]), None)


def _local_copies(facts: SdistSource, links: Sequence[str]) -> Iterator[Path]:
    """Yield the archives of the release in pip's local folders (find-links)."""
    for link in links:
        folder = Path(link.removeprefix("file://"))
        if folder.is_dir():
            yield from sorted(path for path in folder.glob("*.tar.gz") if _is_sdist_of(path.name, facts))


def _is_sdist_of(filename: str, facts: SdistSource) -> bool:
    """Return whether a file has the name of the release's sdist, in any spelling of project and version."""
    return canonicalize_name(filename) == canonicalize_name(f"{facts.name}-{facts.version}.tar.gz")


def _verify(archive: Path, facts: SdistSource, what: str) -> None:
    if (found := file_digest(archive)) != facts.sha256:
        raise SourceError(f"{what} has sha256 {found}, not {facts.sha256}; source.sdist.sha256 should be checked")


def _write(url: str, into: Path, session: requests.Session) -> None:
    with session.get(url, stream=True, timeout=_SECONDS) as response, into.open("wb") as file:
        response.raise_for_status()
        size = 0
        for block in response.iter_content(1 << 20):
            size += len(block)
            if size > MOST_MIB << 20:
                raise SourceError(f"{_public_url(url)} is larger than {MOST_MIB} MiB; that is refused")
            file.write(block)


def _public_url(url: str) -> str:
    """Return a URL without its user and password."""
    parts = urlsplit(url)
    return parts._replace(
        netloc=parts.hostname or "" if parts.port is None else f"{parts.hostname}:{parts.port}"
    ).geturl()
