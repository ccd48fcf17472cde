"""A failed build names its step and its reason."""

from __future__ import annotations

from pytest_crab.errors import EngineError, ImageError
from pytest_crab.runtimes.build_log import BuildLog

EXIT = "The command '/bin/sh -c : x; false' returned a non-zero code: 1"


def _log(*texts: str) -> BuildLog:
    log = BuildLog()
    for text in texts:
        assert log.take({"stream": text}) is None
    return log


def test_standard_error_tells_the_reason_whatever_came_last() -> None:
    log = _log("Step 2/9 : RUN : install the pinned packages;     pip", "\x1b[91mERROR: no such version\n\x1b[0m")
    log.take({"stream": "Collecting x\n"})
    log.take({"stream": "\x1b[91mWARNING: you should\n\x1b[0m"})
    log.take({"stream": "Removing intermediate container 12\n"})
    error = log.failure("demo", EXIT)
    assert isinstance(error, ImageError)
    expected = "demo: the image could not be built, it failed to install the pinned packages: ERROR: no such version"
    assert str(error) == expected
    assert "Collecting x" in error.log


def test_pips_hint_is_no_reason_and_a_library_is_for_the_environment() -> None:
    log = _log("Step 2/9 : RUN : install the pinned packages;     pip")
    said = ("x.c:1: fatal error: ffi.h: No such file or directory", "error: metadata-generation-failed")
    for line in (*said, "╰─> See above for output.", "hint: See above for details."):
        log.take({"stream": f"\x1b[91m{line}\n\x1b[0m"})
    told = str(log.failure("demo", EXIT))
    assert "ffi.h: No such file or directory; it needs the Debian packages libffi-dev" in told
    assert told.endswith("name them in environment.system")


def test_a_signal_that_ended_a_step_is_told_in_words() -> None:
    log = _log("Step 2/9 : RUN : install the pinned packages;     pip", "Collecting torch\n")
    told = str(log.failure("demo", EXIT.replace("code: 1", "code: 137")))
    assert "SIGKILL" in told
    assert told.endswith(": Collecting torch")


def test_an_earlier_steps_errors_are_not_this_ones() -> None:
    log = _log("Step 1/9 : RUN : a;", "\x1b[91mold\x1b[0m", "Step 2/9 : COPY x y")
    assert str(log.failure("demo", "no such file")).endswith("failed to COPY x y: no such file")


def test_a_full_disk_is_the_engines_fault() -> None:
    assert isinstance(_log().failure("demo", "write /x: no space left on device"), EngineError)


def test_the_words_of_the_project_for_a_full_disk_prove_nothing() -> None:
    said = "No space left on device"
    assert isinstance(_log(f"{said}\n").failure("demo", EXIT), ImageError)
    assert isinstance(_log().failure("demo", f"open /{said}/x: no such file or directory"), ImageError)


def test_the_engines_error_and_the_image_are_taken() -> None:
    log = BuildLog()
    assert log.take({"aux": {"ID": "sha256:1"}}) is None
    assert log.take({"error": "bad"}) == "bad"
    assert log.built == "sha256:1"
