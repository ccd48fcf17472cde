"""Base images for machines where no registry answers: of Debian packages or of this machine's own CPython."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_crab import serialization
from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import ImageError
from pytest_crab.scratch import scratch
from pytest_crab.text import last_line

if TYPE_CHECKING:
    from docker import APIClient

    from pytest_crab.ecosystems.interpreters import Interpreter
    from pytest_crab.ecosystems.toolchain import Tools

#: The users of a sandbox, as /etc/passwd tells them.
PASSWD = """\
root:x:0:0:root:/root:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
project:x:1000:1000:project:/tmp:/bin/sh
oracle:x:1001:1001:oracle:/tmp:/bin/sh
"""  # noqa: S105 - there is no password in it
GROUP = "root:x:0:\nnogroup:x:65534:\nproject:x:1000:\noracle:x:1001:\n"

_DEBIAN = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie"}
_TOOLS = """
    sh bash [ cat chmod chown cmp comm cp cut date dd df diff dirname du basename echo env expr false find fold
    grep head hostname id install join kill ln ls md5sum mkdir mktemp mv nice nl nohup nproc od paste printenv
    printf pwd readlink realpath rm rmdir sed seq sha1sum sha256sum sleep sort split stat tac tail tar tee test
    timeout touch tr true uname uniq wc which xargs yes gzip patch git awk mawk
""".split()  # noqa: SIM905 - a list of sixty strings is no better to read
_GIT_CORE = ("git-sh-setup", "git-sh-i18n", "git-submodule", "git-difftool--helper", "git-mergetool--lib")
_LEFT_OUT = {"test", "idlelib", "turtledemo", "tkinter", "site-packages", "dist-packages", "lib2to3"}
_LIBC = ("librt", "libdl", "libpthread", "libutil", "libm", "libresolv", "libnss_files", "libgcc_s", "libstdc++")
#: Changes with how an image is packed, where no other constant here does.
_FORM = 1
#: The label that holds the recipe of a base image.
_LABEL = "pytest-crab.recipe"
_LIBRARY = re.compile(r"(?:=>\s*)?(/\S+)\s+\(0x")


def recipe() -> str:
    """Return the digest of all that this version packs into a base image, whichever way it is made."""
    packed = [_FORM, _TOOLS, _GIT_CORE, sorted(_LEFT_OUT), _LIBC, interpreters.DEBIAN_PACKAGES, PASSWD, GROUP]
    return serialization.digest([*packed, interpreters.WHEELS])


def is_old(image: Mapping[str, Any]) -> bool:
    """Return whether an engine's record is of a base that another version of this package built of other things."""
    labels = image["Config"].get("Labels") or {}
    return "pytest-crab.base" in labels and labels.get(_LABEL) != recipe()


def build_tools_base(client: APIClient, tools: Tools, version: str, cpython: str) -> tuple[str, str]:
    """Build the local base image for an ecosystem's tools out of this machine's own; as ``build_base``.

    It holds the CPython X.Y of this machine too, since what runs inside a workspace is written in it.
    """
    tool, interpreter = tools.find(version), interpreters.find(cpython)
    if interpreter is None:
        raise ImageError(f"no CPython {cpython} was found on PATH or in pyenv's folder; install one")
    tag = tools.local_base.format(version=version)
    with scratch("base") as folder:
        archive = folder / "base.tar"
        _pack_cpython(interpreter, folder / "root", archive, lambda root: tools.copy(tool, root))
        _import(client, archive, tag, f"{tools.name}-{version}")
    made = f"{tools.name} {tool.version} of {tool.program} and CPython {interpreter.full} of {interpreter.prefix}"
    return tag, f"{tag} was made of {made} with their libraries, git and coreutils"


def build_base(client: APIClient, cpython: str, *, origin: str | None = None) -> tuple[str, str]:
    """Build the local base image for CPython X.Y; its tag, and one sentence that says what it was made of.

    ``origin`` is ``cpython`` (this machine's interpreter and its libraries), ``debian`` (packages) or None: the first
    that can. Raises ImageError.
    """
    interpreter = interpreters.find(cpython)
    tag = interpreters.bases(interpreters.LOCAL_BASE, cpython)[0]
    if origin == "cpython" and interpreter is None:
        raise ImageError(
            f"no CPython {cpython} was found on PATH or in pyenv's folder; install one or use --from debian"
        )
    with scratch("base") as folder:
        archive = folder / "base.tar"
        if interpreter is not None and origin != "debian":
            _pack_cpython(interpreter, folder / "root", archive)
            made = f"CPython {interpreter.full} of {interpreter.prefix} with its libraries, git and coreutils"
        else:
            made = _pack_debian(cpython, archive)
        _import(client, archive, tag, cpython)
    return tag, f"{tag} was made of {made}"


def _import(client: APIClient, archive: Path, tag: str, cpython: str) -> None:
    repository, _, version = tag.partition(":")
    changes = [
        "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
        "ENV LANG=C.UTF-8",
        f"LABEL pytest-crab.base={cpython} {_LABEL}={recipe()}",
        'CMD ["/bin/sh"]',
    ]
    before = client.images(name=tag, quiet=True)
    client.import_image_from_file(str(archive), repository=repository, tag=version, changes=changes)
    here = client.images(name=tag, quiet=True)
    if not here:
        raise ImageError(f"the engine did not take the base image {tag}; is there space left for it?")
    for image in set(before) - set(here):
        _remove_unused(client, image)


def _remove_unused(client: APIClient, image: str) -> None:
    """Remove an image that has no name any more; one that images or containers are made of stays."""
    import docker.errors

    with contextlib.suppress(docker.errors.APIError):
        if not client.inspect_image(image)["RepoTags"]:  # type: ignore[no-untyped-call]
            client.remove_image(image)


def _pack_debian(cpython: str, archive: Path) -> str:
    suite = _DEBIAN.get(cpython)
    if suite is None:
        raise ImageError(
            f"Debian has no release with CPython {cpython} (it has {', '.join(_DEBIAN)}); install that CPython"
        )
    if shutil.which("mmdebstrap") is None:
        raise ImageError("mmdebstrap is not installed, so no base image can be made of Debian packages")
    users = (
        'for u in project:1000 oracle:1001; do chroot "$1" useradd -M -d /tmp -s /bin/sh -u ${u#*:} -U ${u%:*}; done'
    )
    include = f"--include={interpreters.DEBIAN_PACKAGES},passwd"
    hooks = [f"--customize-hook={hook}" for hook in (users, interpreters.DEBIAN_ALIAS)]
    command = ["mmdebstrap", "--variant=minbase", include, *hooks]
    done = subprocess.run([*command, suite, str(archive)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = last_line(done.stderr) or "it printed nothing"
        raise ImageError(f"mmdebstrap could not make a base image of Debian {suite}: {last}", log=done.stderr[-4000:])
    return f"Debian {suite} packages ({interpreters.DEBIAN_PACKAGES})"


def _pack_cpython(
    interpreter: Interpreter, root: Path, archive: Path, more: Callable[[Path], list[Path]] = lambda _: []
) -> None:
    """Pack an interpreter; ``more`` copies other programs and returns those whose libraries are needed too."""
    _lay_out(root)
    own, others = _copy_interpreter(interpreter, root), more(root)
    programs = [own, *others]
    tools = [found for found in map(shutil.which, _TOOLS) if found]
    for tool in tools:
        _copy_file(Path(tool), root / "usr/bin" / Path(tool).name)
    _copy_git(root)
    modules = list((interpreter.stdlib / "lib-dynload").glob("*.so"))
    packed = {_identity(path) for path in root.rglob("*.so*") if path.is_file()}
    folders = {program.parent.parent for program in others} - set(map(Path, ("/", "/usr", "/usr/local")))
    for library in _libraries([*programs, *map(Path, tools), *modules]) | _beside_libc(own):
        # What lies below a tool's own folder was copied with it, and its programs find it there.
        beside = any(library.is_relative_to(folder) for folder in folders)
        system = library.is_relative_to("/usr") or library.is_relative_to("/lib")
        if system or not beside or _identity(library) not in packed:
            _copy_file(library, root / _library_place(library))
    _link_ids(root)
    subprocess.run(["/sbin/ldconfig", "-r", str(root)], check=True, capture_output=True)
    with tarfile.open(archive, "w", dereference=False) as tar:
        tar.add(root, arcname=".", filter=_as_root)


def _lay_out(root: Path) -> None:
    for folder in ("etc/ssl/certs", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/local/bin", "usr/local/lib"):
        (root / folder).mkdir(parents=True)
    for folder in ("dev", "proc", "sys", "run", "root", "home", "opt", "var/lib", "tmp", "var/tmp"):
        (root / folder).mkdir(parents=True)
    for folder in ("tmp", "var/tmp"):
        (root / folder).chmod(0o1777)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text(PASSWD)
    (root / "etc/group").write_text(GROUP)
    (root / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")
    (root / "etc/ld.so.conf").write_text("/usr/local/lib\n/usr/lib\n")
    for extra in ("etc/ssl/certs/ca-certificates.crt", "etc/ssl/openssl.cnf", "etc/mime.types", "etc/services"):
        if (Path("/") / extra).exists():
            _copy_file(Path("/") / extra, root / extra)
    for folder in ("usr/share/zoneinfo", "usr/lib/locale/C.utf8", interpreters.WHEELS):
        if (Path("/") / folder).is_dir():
            shutil.copytree(Path("/") / folder, root / folder, symlinks=True)


def _copy_interpreter(interpreter: Interpreter, root: Path) -> Path:
    name = interpreter.name
    binary = interpreter.prefix / "bin" / name
    if not binary.exists():
        raise ImageError(f"{interpreter.prefix} has no bin/{name}, so its CPython cannot be put into an image")
    _copy_file(binary, root / "usr/local/bin" / name)
    for alias in interpreters.ALIASES:
        (root / "usr/local/bin" / alias).symlink_to(name)
    for library in (interpreter.prefix / "lib").glob("libpython*.so*"):
        _copy_file(library, root / "usr/local/lib" / library.name)
    stdlib = root / "usr/local/lib" / name
    shutil.copytree(interpreter.stdlib, stdlib, symlinks=True, ignore=_left_out)
    (stdlib / "site-packages").mkdir()
    # The .pyc files travel along with their sources' times; this compiles only what is missing.
    subprocess.run([str(binary), "-I", "-m", "compileall", "-q", str(stdlib)], check=False, capture_output=True)
    return binary


def _left_out(folder: str, names: list[str]) -> set[str]:
    heavy = _LEFT_OUT & set(names) if not folder.endswith("unittest") else set()
    unused = {name for name in names if name.endswith((".opt-1.pyc", ".opt-2.pyc", ".a")) or name == "config"}
    return set(heavy) | unused


def _copy_git(root: Path) -> None:
    core = Path("/usr/lib/git-core")
    for name in _GIT_CORE:
        if (core / name).exists():
            _copy_file(core / name, root / "usr/lib/git-core" / name)
    (root / "usr/lib/git-core").mkdir(exist_ok=True)
    (root / "usr/lib/git-core/git").symlink_to("/usr/bin/git")
    if Path("/usr/share/git-core/templates").is_dir():
        (root / "usr/share/git-core/templates").mkdir(parents=True)


def _link_ids(root: Path) -> None:
    if not (root / "usr/bin/which").exists():
        (root / "usr/bin/which").write_text('#!/bin/sh\ncommand -v "$@"\n')
        (root / "usr/bin/which").chmod(0o755)


def _libraries(binaries: Iterable[Path]) -> set[Path]:
    found: set[Path] = set()
    for binary in binaries:
        listed = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False).stdout
        found.update(Path(path) for path in _LIBRARY.findall(listed))
    return found


def _beside_libc(binary: Path) -> set[Path]:
    """Yield the libraries that programs expect beside the C library, though nothing in the image needs them."""
    folders = {library.parent for library in _libraries([binary]) if library.name == "libc.so.6"}
    return {path for folder in folders for name in _LIBC for path in folder.glob(f"{name}.so.*")}


def _identity(library: Path) -> tuple[str, int, int]:
    """Return what a copy of a library has in common with it."""
    found = library.stat()
    return library.name, found.st_size, found.st_mtime_ns


def _library_place(library: Path) -> str:
    if library.is_relative_to("/lib64"):
        return f"usr/lib64/{library.name}"  # the loader, whose place is written into every program
    return f"usr/local/lib/{library.name}" if library.name.startswith("libpython") else f"usr/lib/{library.name}"


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy2(os.path.realpath(source), target)


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    if member.isreg():
        member.mode &= ~(stat.S_ISUID | stat.S_ISGID)
    return member
