"""What is said of a build that failed: the limit or signal that ended it, and the telling lines."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_crab.ecosystems import uv_cli
from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.errors import EngineError, ImageError
from pytest_crab.protocols import Completed, Limits
from pytest_crab.runtimes import RuntimeSettings, bubblewrap_runtime, build_failures, venvs
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.sources import fetcher_for
from pytest_crab.types import Instance

LIMITS = Limits(memory=300, processes=64, cpus=1.0, disk=400, file=5)


def completed(code: int | None, said: str = "Resolved 12 packages in 3s\n", **more: bool) -> Completed:
    return Completed(exit_code=code, stdout=b"", stderr=said.encode(), **more)


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (completed(153), "file of more than the 5 MiB"),
        (completed(1, "OSError: [Errno 27] File too large"), "file of more than the 5 MiB"),
        (completed(137), "SIGKILL"),
        (completed(139), "SIGSEGV"),
        (completed(137, out_of_memory=True), "more memory than there is for a build, 300 MiB"),
        (completed(1, "c++: fatal error: Cannot allocate memory"), "300 MiB"),
        (completed(None, timed_out=True), "within 60 s"),
        (completed(None, too_much_disk=True), "more than 400 MiB to the disk"),
        (completed(None, too_much_output=True), "printed more"),
    ],
)
def test_a_limit_or_a_signal_in_words(done: Completed, words: str) -> None:
    error = build_failures.failure("demo: it could not be built", done, LIMITS, 60)
    assert isinstance(error, ImageError)
    assert str(error).startswith("demo: it could not be built: ")
    assert words in str(error)


def test_a_build_that_came_to_its_own_end_has_no_such_words() -> None:
    error = build_failures.failure("demo", completed(1, "noise\nerror: no such version\n"), LIMITS, 60)
    assert str(error) == "demo: error: no such version"


@pytest.mark.parametrize(
    ("said", "of_machine"),
    [
        ("error: Failed to fetch: a\n  cause: error sending request for url (http://127.0.0.1:9/a/)", True),
        ("fatal: unable to access 'https://git.example/a/': Could not resolve host: git.example", True),
        (
            "Fetching gem metadata\nCould not reach host gems.example. Check your network connection and try\nagain.",
            True,
        ),
        ("file could not be downloaded: php_network_getaddresses: getaddrinfo for php.example failed: no", True),
        ("error: Failed to fetch: http://127.0.0.1/a/\n  cause: HTTP status client error (404 Not Found)", False),
        ("No solution found: a was not found in the package registry", False),
    ],
)
def test_a_server_that_does_not_answer_is_an_outage(said: str, *, of_machine: bool) -> None:
    error = build_failures.failure("demo", completed(1, said), LIMITS, 60)
    assert isinstance(error, ImageError)
    assert error.of_machine is of_machine


def test_the_words_for_a_full_disk_prove_nothing() -> None:
    error = build_failures.failure("demo", completed(2, "cp: No space left on device: no such file"), LIMITS, 60)
    assert isinstance(error, ImageError)


def test_a_full_disk_is_the_machines_fault(tmp_path: Path, without: Callable[[str, str], NoReturn]) -> None:
    build_failures.require_room([tmp_path])
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "crab", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        without("root", "a small disk cannot be mounted here")
    try:
        with pytest.raises(EngineError, match="no space is left"):
            build_failures.require_room([tmp_path, disk])
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_of_a_long_output_the_beginning_is_kept_as_well() -> None:
    kept = build_failures.output(completed(1, f"Failed to build `x==1`\n{'y' * 9000}\nlast"))
    assert kept.startswith("Failed to build `x==1`")
    assert kept.endswith("last")
    assert len(kept) < 6000


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("noise\n  | No solution found\n  ╰─▶ Because x cannot be, no.\n", "Because x cannot be, no."),
        ("a.c:1:10: fatal error: ffi.h: No such file or directory", "needs the Debian packages libffi-dev"),
        ("No package 'pangocairo' found\nerror: exit", "libpango1.0-dev"),
        ("Error: pg_config executable not found.", "libpq-dev"),
        ("Resolved 3 packages\nPrepared 3 packages", "Prepared 3 packages"),
        ("", "it said nothing"),
    ],
)
def test_the_telling_lines_and_the_system_package_that_lacks(said: str, wanted: str) -> None:
    assert wanted in build_failures.why(said)


def test_a_builds_own_reason_comes_beside_the_package() -> None:
    said = (
        "Resolved 3 packages in 2s\nerror: Failed to build `x==1`\n  cause: The build backend returned an error\n"
        "   [stderr]\n   x.c:9: fatal error: longintrepr.h: No such file or directory\n"
        "   error: Command 'gcc' returned non-zero exit status 1.\nhint: This error likely indicates a library\n"
    )
    assert build_failures.why(said) == (
        "error: Failed to build `x==1`; x.c:9: fatal error: longintrepr.h: No such file or directory"
    )


#: What tools print of a failed build, and the end of the sentence that is made of it.
ENDINGS = {
    "pip": (
        """\
              KeyError: 'version'
              [end of output]
        error: metadata-generation-failed
        * Encountered error while generating package metadata.
        > See above for output.
        note: This is an issue with the package mentioned above, not pip.
        hint: See above for details.
        """,
        "KeyError: 'version'",
    ),
    "wheel": (
        """\
          x.c:3: error: unknown type name 'foo'
          error: command 'gcc' failed with exit code 1
          ERROR: Failed building wheel for x
        error: failed-wheel-build-for-install
        * Failed to build installable wheels for some pyproject.toml based projects
        > x
        """,
        "x.c:3: error: unknown type name 'foo'",
    ),
    "npm": (
        """\
        npm ERR! code ETARGET
        npm ERR! notarget No matching version found for left-pad@99.
        npm ERR! notarget In most cases you or one of your dependencies are requesting
        npm ERR! notarget a package version that doesn't exist.
        npm ERR! A complete log of this run can be found in: /root/.npm/_logs/1-debug-0.log
        """,
        "No matching version found for left-pad@99.",
    ),
    "cargo": (
        """\
        error[E0432]: unresolved import `foo`
         --> src/lib.rs:1:5
        For more information about this error, try `rustc --explain E0432`.
        error: could not compile `x` (lib) due to 1 previous error
        """,
        "error[E0432]: unresolved import `foo`",
    ),
    "cmake": (
        """\
        CMake Error at CMakeLists.txt:2 (find_package): Could not find Foo
        -- Configuring incomplete, errors occurred!
        See also "/tmp/CMakeFiles/CMakeOutput.log".
        make: *** [Makefile:2: all] Error 1
        """,
        "Could not find Foo",
    ),
    "bundler": (
        """\
        Fetching source index from https://gems.example/
        Could not reach host gems.example. Check your network connection and try
        again.
        """,
        "Could not reach host gems.example. Check your network connection and try",
    ),
    "bundler without a lock": (
        "there is no Gemfile.lock, so nothing pins the gems; write one by bundle lock",
        "there is no Gemfile.lock, so nothing pins the gems; write one by bundle lock",
    ),
    "composer": (
        """\
        Installation failed, deleting ./composer.json.
        In RemoteFilesystem.php line 476:
          The "https://php.example/packages.json" file could not be downloaded: no such name
          Failed to open stream: no such name
        require [--dev] [--dry-run] [--prefer-source]
        """,
        'The "https://php.example/packages.json" file could not be downloaded: no such name',
    ),
    "maven": (
        """\
        [ERROR] Failed to execute goal on project x: Could not resolve y:jar:1 -> [Help 1]
        [ERROR] Re-run Maven using the -X switch to enable full debug logging.
        [ERROR] [Help 1] http://cwiki.example/Help
        """,
        "Could not resolve y:jar:1 -> [Help 1]",
    ),
    "javac by maven": (
        """\
        \x1b[0m\x1b[0m[ERROR] COMPILATION ERROR :
        [ERROR] Source option 6 is no longer supported. Use 7 or later.
        [ERROR] Failed to execute goal a:b:3.1:compile (default-compile) on project x: Compilation failure
        [ERROR] Source option 6 is no longer supported. Use 7 or later.
        [ERROR] -> [Help 1]
        [ERROR]
        [ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.
        \x1b[0m\x1b[0m
        """,
        "[ERROR] Source option 6 is no longer supported. Use 7 or later.",
    ),
    "linker": (
        """\
        /usr/bin/ld: a.o: in function `main':
        a.c:(.text+0xa): undefined reference to `ring_open'
        collect2: error: ld returned 1 exit status
        make: *** [Makefile:12: test_ring] Error 1
        """,
        "a.c:(.text+0xa): undefined reference to `ring_open'",
    ),
}


@pytest.mark.parametrize(("said", "cause"), ENDINGS.values(), ids=ENDINGS)
def test_a_sentence_ends_with_the_tools_own_cause(said: str, cause: str) -> None:
    assert str(build_failures.failure("demo", completed(1, said), LIMITS, 60)).endswith(cause)
    assert build_failures.brief(completed(1, said)).endswith(cause)


def test_what_a_compiler_says_of_a_place_is_whole() -> None:
    types = "std::map<std::string, std::vector<std::pair<Shop, std::string> > >"
    said = f"src/shop.cpp:6:213: error: no matching function for call to '{types}::insert({types}, {types})'"
    assert len(said) > 200
    assert build_failures.why(f"In file included from src/a.cpp:1:\n{said}\n    6 | shops.insert(3);\n") == said


def test_what_only_frames_a_cause_is_no_part_of_the_sentence() -> None:
    assert build_failures.why(ENDINGS["javac by maven"][0]) == ENDINGS["javac by maven"][1]


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_a_tool_that_is_here_is_understood(tmp_path: Path, tool: str) -> None:
    (tmp_path / "backend.py").write_text("import nonesuch\n")
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (tmp_path / "pyproject.toml").write_text(f'{build}[project]\nname = "x"\ndynamic = ["version"]\n')
    programs = {
        "pip": [sys.executable, "-m", "pip", "install", "--dry-run"],
        "uv": [str(uv_cli.program()), "pip", "install", "--dry-run", f"--python={sys.executable}"],
    }
    command = [*programs[tool], "--no-build-isolation", "--no-deps", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode != 0
    told = build_failures.brief(Completed(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr))
    assert told.endswith("ModuleNotFoundError: No module named 'nonesuch'")


def test_what_to_do_about_a_system_package_on_this_machine() -> None:
    said = completed(1, "x.c:1: fatal error: ffi.h: No such file or directory")
    told = str(build_failures.failure("demo", said, LIMITS, 60))
    assert "apt-get install libffi-dev" in told
    assert "environment.system" in told
    assert "docker" in told


def test_a_system_package_is_named_only_when_it_is_missing() -> None:
    assert "Debian" not in build_failures.why("compiling with ffi.h\nerror: something else\n")


@pytest.fixture
def build(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs_an_index: None
) -> Callable[..., Exception]:
    """Prepare the instance with other packages or installs under these limits; the error."""

    def run(limits: Limits, **environment: object) -> Exception:
        for module in (bubblewrap_runtime, venvs):
            monkeypatch.setattr(module, "INSTALL_LIMITS", limits)
        changed = {"python": running_version(), **environment}
        asked = dataclasses.replace(instance, environment=dataclasses.replace(instance.environment, **changed))  # type: ignore[arg-type]
        snapshot = fetcher_for(asked).fetch(asked, tmp_path / "cache")
        runtime = BubblewrapRuntime(RuntimeSettings(), cache=tmp_path / "cache", slots=8)
        try:
            with pytest.raises(ImageError) as caught:
                runtime.prepare(asked, snapshot, {})
        finally:
            runtime.close()
        return caught.value

    return run


@pytest.mark.bubblewrap
@pytest.mark.parametrize("moment", [None, "2025-06-01T00:00:00Z"])
def test_an_install_of_a_file_over_the_limit_says_so(build: Callable[..., Exception], moment: str | None) -> None:
    error = build(
        dataclasses.replace(LIMITS, memory=2048, file=4), packages=("lxml==5.3.2", "pytest==8.3.5"), resolved=moment
    )
    assert "it needed a file of more than the 4 MiB that one may have" in str(error)
    assert "lxml" in error.log  # type: ignore[attr-defined]


@pytest.mark.bubblewrap
def test_install_commands_say_by_what_they_were_ended(build: Callable[..., Exception]) -> None:
    enough = dataclasses.replace(LIMITS, memory=2048, disk=1024, file=64)
    size = "head -c 70M /dev/zero > large"
    assert "file of more than the 64 MiB" in str(build(enough, install=(size,)))
    fills = "for n in 1 2 3 4 5 6 7 8 9; do head -c 50M /dev/zero > $n; done; sleep 60"
    little = dataclasses.replace(enough, disk=200)
    assert "more than 200 MiB to the disk" in str(build(little, install=(fills,)))
    assert "SIGKILL" in str(build(enough, install=("echo begun; kill -9 $$",)))
