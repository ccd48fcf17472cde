"""What all tests share: which outside programs must be there, what is skipped without them, and small instances."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

# Tests are no package, so what tests of several folders share is found by its folder.
sys.path.insert(0, str(Path(__file__).parent / "fakes"))

from pytest_crab.locks import locked_file
from pytest_crab.scratch import machine_folder
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import (
    Category,
    Comment,
    CommentResult,
    Environment,
    Finding,
    Instance,
    Kind,
    Oracle,
    Provenance,
    PullRequestFacts,
    Reason,
    Review,
    Source,
    TreeSource,
    Trial,
)

#: In CI nothing that the machine can run may be skipped: a missing program named here is a failure, not a skip.
REQUIRED = frozenset(filter(None, os.environ.get("CRAB_TEST_REQUIRE", "").split(",")))

#: The words that pytest's last line counts trials and probes by; pull is the first of pull requests.
COUNTED = ("pull", "trial", "trials", "instance", "instances")

#: Marks of tests that need these.
MARKS = ("docker", "bubblewrap", "node", "go", "rust", "java", "cpp", "php", "ruby", "browser")


@pytest.fixture(autouse=True, scope="session")
def outcomes_in_pytests_words() -> Iterator[None]:
    """Read ``1 of 4 trials fully caught, 1 unknown`` as one passed, two failed and one error, for assert_outcomes."""
    parse = pytest.RunResult.parse_summary_nouns

    def parse_ours(lines: Sequence[str]) -> dict[str, int]:
        found = dict(parse(lines))
        total = next((found.pop(word) for word in COUNTED if word in found), 0)
        caught, unknown = found.pop("of", 0), found.pop("unknown", 0)
        for word, count in (("passed", caught), ("failed", total - caught - unknown), ("errors", unknown)):
            found[word] = found.get(word, 0) + count
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest.RunResult, "parse_summary_nouns", staticmethod(parse_ours))
        yield


def do_without(what: str, reason: str) -> NoReturn:
    """Skip for want of this, with the reason; a failure where CRAB_TEST_REQUIRE names it."""
    if what in REQUIRED:
        pytest.fail(f"CRAB_TEST_REQUIRE names {what}, and {reason}")
    pytest.skip(reason)


@functools.cache
def lack_of(program: str) -> str | None:
    """Why tests that need one of ``MARKS`` or ``index`` cannot run here; None if they can."""
    if program == "docker":
        if shutil.which("docker") is None:
            return "no docker client"
        done = subprocess.run(["docker", "version"], capture_output=True, check=False)
        return None if done.returncode == 0 else "no Docker engine answers"
    if program in _LACKS:
        return _LACKS[program]()
    if program == "browser":
        missing = [name for name in ("playwright", "axe_playwright_python") if importlib.util.find_spec(name) is None]
        return f"no {missing[0]}" if missing else None if shutil.which("chromium") else "no chromium"
    from pytest_crab.runtimes import bubblewrap

    return bubblewrap.problem()


def _lack_of_go() -> str | None:
    from pytest_crab.ecosystems.go.tools import GoTools

    found = GoTools().here()
    recent = found is not None and tuple(map(int, found.version.split(".")[:2])) >= (1, 20)
    return None if recent else "no Go from 1.20 on on PATH"


def _lack_of_rust() -> str | None:
    from pytest_crab.ecosystems.rust.tools import RustTools

    return None if RustTools().here() is not None and shutil.which("cc") else "no Rust or no C compiler on PATH"


def _lack_of_node() -> str | None:
    return None if shutil.which("node") else "no node on PATH"


def _lack_of_java() -> str | None:
    from pytest_crab.ecosystems.java.tools import JavaTools

    found = JavaTools().here()
    recent = found is not None and int(found.version.split(".")[0]) >= 11 and shutil.which("mvn") is not None
    return None if recent else "no JDK from 11 on with Maven on PATH"


def _lack_of_cpp() -> str | None:
    programs = [name for name in ("g++", "make", "cmake") if shutil.which(name) is None]
    headers = [name for name in ("gtest/gtest.h", "doctest/doctest.h") if not Path("/usr/include", name).is_file()]
    return f"no {(programs + headers)[0]}" if programs or headers else None


def _lack_of_php() -> str | None:
    lacking = [name for name in ("php", "composer", "phpunit") if shutil.which(name) is None]
    if lacking:
        return f"no {lacking[0]} on PATH"
    done = subprocess.run(["phpunit", "--version"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return None if done.stdout.startswith(b"PHPUnit 9.") else "no PHPUnit 9"


def _lack_of_ruby() -> str | None:
    if shutil.which("ruby") is None or shutil.which("bundle") is None:
        return "no Ruby with Bundler on PATH"
    gems = ["rspec", "minitest"]
    done = subprocess.run(["ruby", "-e", "ARGV.each { |name| gem name }", *gems], capture_output=True, check=False)
    return None if done.returncode == 0 else f"no gems {' and '.join(gems)}"


def _lack_of_an_index() -> str | None:
    if importlib.util.find_spec("uv") is None:
        return "uv is not installed"
    from uv import find_uv_bin

    argv = [find_uv_bin(), "pip", "compile", "-", "--quiet", "--no-cache"]
    done = subprocess.run(argv, input=b"iniconfig\n", capture_output=True, check=False, timeout=60)
    return None if done.returncode == 0 else "no package index answers"


_LACKS = {
    "cpp": _lack_of_cpp,
    "node": _lack_of_node,
    "go": _lack_of_go,
    "rust": _lack_of_rust,
    "java": _lack_of_java,
    "php": _lack_of_php,
    "ruby": _lack_of_ruby,
    "index": _lack_of_an_index,
}


#: The folder in this run's temporary folder of what all its workers have in common.
SHARED = "shared"


def pytest_configure(config: pytest.Config) -> None:
    """Give each worker a TMPDIR, and so slots that no other holds: a sandbox that only waits keeps its slot.

    What all environments have alike is made once for all workers, and so are the locks for that.
    """
    if hasattr(config, "workerinput"):
        shared = Path(config.option.basetemp).parent / SHARED
        folder = tempfile.mkdtemp(prefix="")  # short, since sockets lie below it
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        for name in ("seeds", "builds"):
            (shared / name).mkdir(parents=True, exist_ok=True)
            (machine_folder() / name).symlink_to(shared / name)


#: Files whose tests are played under each runtime, and take long.
IN_BOTH_RUNTIMES = frozenset(
    (
        *("test_examine.py", "test_confined.py", "test_checkout.py", "test_contract.py", "test_clients_place.py"),
        *("test_attacks.py", "test_residual.py", "test_channel.py", "test_white_box.py", "test_installs.py"),
    )
)


def pytest_sessionstart() -> None:
    """Set up what the extra ``test`` brings along; ``pytest --help`` needs nothing of it."""
    # A run of pytest in this process takes away what it imported first, and httpx2 would go on with this one's classes.
    import httpcore2  # noqa: F401
    import hypothesis

    # How long one example takes is the machine's load, not the code's fault; and a gate asks the same of every change.
    hypothesis.settings.register_profile(
        "steady",
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        derandomize="CRAB_TEST_REQUIRE" in os.environ,
    )
    hypothesis.settings.load_profile("steady")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for program in MARKS:
        lack = lack_of(program) if item.get_closest_marker(program) else None
        if lack is not None:
            do_without(program, lack)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark some tests slow, and put the longest first: no worker has one left when the others are done."""
    for item in items:
        if item.get_closest_marker("client"):
            item.add_marker(pytest.mark.slow(reason="a real client starts, and installs itself in its home"))
        if item.get_closest_marker("docker") and item.path.name in IN_BOTH_RUNTIMES:
            item.add_marker(pytest.mark.slow(reason="the same as under the local runtime, in containers"))
    long = {"trial", "namespaces", "test_record.py", "test_commands_page.py", "test_stranger.py"}
    items.sort(key=lambda item: not long & set(item.path.parts))


@pytest.fixture(scope="session")
def without() -> Callable[[str, str], NoReturn]:
    """``without(what, reason)`` skips for want of something; a failure where CRAB_TEST_REQUIRE names it."""
    return do_without


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what all workers have in common, such as stores and caches."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / SHARED
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def made_once(shared_folder: Path) -> Callable[[str, Callable[[Path], object]], Path]:
    """``made_once(name, make)`` is a folder that ``make`` fills once for all workers; to be copied, not changed."""

    def find(name: str, make: Callable[[Path], object]) -> Path:
        folder, done = shared_folder / name, shared_folder / f"{name}.done"
        with locked_file(shared_folder / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return find


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], object]], None]:
    """``until(done)`` waits for a condition, as long as a machine may take that is busy or was paused."""

    def wait(done: Callable[[], object]) -> None:
        deadline = time.monotonic() + 300
        while not done():
            assert time.monotonic() < deadline, "five minutes were not enough"
            time.sleep(0.05)

    return wait


@pytest.fixture(scope="session")
def on_terminal() -> Callable[..., str]:
    """``on_terminal(folder, argv)`` is what a command writes on a terminal of 100 columns."""

    def run(folder: Path, argv: list[str]) -> str:
        ours, theirs = pty.openpty()
        env = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
        process = subprocess.Popen(argv, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        chunks = []
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        process.wait(300)
        os.close(ours)
        return b"".join(chunks).decode()

    return run


@pytest.fixture(scope="session")
def seen() -> Callable[[str], str]:
    """``seen(text)`` is what stays on the screen when backspaces have done their work."""

    def read(text: str) -> str:
        lines = []
        for line in re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n").split("\n"):
            cells: list[str] = []
            at = 0
            for char in line:
                if char in "\b\r":
                    at = max(0, at - 1) if char == "\b" else 0
                    continue
                cells[at : at + 1] = [char]
                at += 1
            lines.append("".join(cells).rstrip())
        return "\n".join(lines)

    return read


@pytest.fixture(scope="session")
def needs_an_index() -> None:
    """Skip where no package index answers."""
    lack = lack_of("index")
    if lack is not None:
        do_without("index", lack)


@pytest.fixture(scope="session")
def uv() -> Callable[..., None]:
    """``uv(*argv)`` runs uv, which installs several times as fast as pip."""
    from uv import find_uv_bin

    def run(*argv: str | Path) -> None:
        subprocess.run([find_uv_bin(), *argv, "--quiet"], check=True)

    return run


@pytest.fixture(scope="session")
def wheel(
    made_once: Callable[[str, Callable[[Path], object]], Path], needs_an_index: None, uv: Callable[..., None]
) -> Path:
    """The package's wheel, made of its source distribution; ``source`` beside it is what both were made of."""
    root = Path(__file__).parents[1]

    def make(folder: Path) -> None:
        source = folder / "source"
        for name in ("pytest_crab", "dockerfiles", "instances/quickstart"):
            shutil.copytree(root / name, source / name, symlinks=True)
        for name in ("pyproject.toml", "setup.cfg", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
            shutil.copy(root / name, source / name)
        uv("build", "--out-dir", folder, source)

    (made,) = made_once("wheel", make).glob("*.whl")
    return made


@pytest.fixture(scope="session")
def benchmark_script() -> Callable[[str], Any]:
    """Gives a script of bench/ as a module, by its name."""

    def load(name: str) -> Any:
        place = Path(__file__).parents[1] / "bench" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"benchmark_{name}", place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        sys.path.insert(0, str(place.parent))  # as where the script is run
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(place.parent))
        return module

    return load


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """``passes(seconds)`` lets time pass, which stands still otherwise."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


@pytest.fixture(scope="session")
def tree_comment() -> Callable[..., Comment]:
    """``tree_comment(id, path, **fields)``: functional, behavioral and with an oracle, unless ``fields`` differ."""

    def make(name: str, path: str, **fields: Any) -> Comment:
        known = {"body": "Wrong.", "category": Category.FUNCTIONAL, "kind": Kind.BEHAVIORAL}
        return Comment(id=name, path=path, **{**known, "oracle": Oracle(file=f"oracles/test_{name}.py"), **fields})

    return make


@pytest.fixture(scope="session")
def tree_instance() -> Callable[..., Instance]:
    """``tree_instance(folder, id, *comments, **fields)``: authored and on a tree, unless ``fields`` differ."""

    def make(folder: Path, name: str, *comments: Comment, **fields: Any) -> Instance:
        tree = Source(tree=TreeSource(path="tree", head="head.diff", reference="reference.diff"))
        known = {
            "provenance": Provenance.AUTHORED,
            "repo": "example/project",
            "license": "MIT",
            "pull_request": PullRequestFacts(number=1, title="A change"),
            "source": tree,
            "environment": Environment(dockerfile="python"),
        }
        return Instance(id=name, folder=str(folder), comments=comments, **{**known, **fields})

    return make


def _make_result(comment: str, reason: Reason, **fields: Any) -> CommentResult:
    return comment_result(comment, reason, **fields)


def _make_trial(reviewer: str, instance: str, *reasons: Reason | CommentResult, **fields: Any) -> Trial:
    results = tuple(
        reason if isinstance(reason, CommentResult) else _make_result(f"c{at}", reason)
        for at, reason in enumerate(reasons)
    )
    findings = fields.pop("findings", 0)
    known: dict[str, Any] = {
        "repo": "owner/name",
        "provenance": Provenance.AUTHORED,
        "agent": "claude-code",
        "runtime": "local",
        "review": None if findings is None else Review(findings=(Finding(body="x"),) * findings),
    }
    return trial_of(results, instance=instance, reviewer=reviewer, **{**known, **fields})


@pytest.fixture(scope="session")
def make_result() -> Callable[..., CommentResult]:
    return _make_result


@pytest.fixture(scope="session")
def make_trial() -> Callable[..., Trial]:
    """``make_trial(reviewer, instance, *reasons, findings=0, **fields)``; a reason stands for an oracle's result."""
    return _make_trial


CRAB_YAML = """\
models:
  providers: {{anthropic: {{base_url: "{url}"}}}}
  prices: {{scripted: {{input: 1, output: 10}}, stern: {{input: 1, output: 10}}}}
  retries: 0
judges:
{judges}
"""

#: Makes the scripted provider answer, names judges in crab.yaml, and writes what the report knows of pull requests.
Judging = Callable[..., ScriptedProvider]


@pytest.fixture
def judging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judging]:
    """The current folder holds crab.yaml with these judges, and instances/ with comments at a.py's lines."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-in-a-judge")
    monkeypatch.chdir(tmp_path)
    with ScriptedProvider() as provider:

        def start(
            script: Callable[[Asked], Reply],
            judges: Sequence[str],
            comments: Sequence[tuple[int, str]],
            *,
            diff: str = "",
            repos: Sequence[str] = ("one",),
        ) -> ScriptedProvider:
            provider.script = script
            named = "\n".join(f"  {judge}" for judge in judges)
            (tmp_path / "crab.yaml").write_text(CRAB_YAML.format(url=provider.anthropic_url, judges=named))
            (tmp_path / "instances").mkdir()
            known = [
                {"id": f"c{at}", "path": "a.py", "lines": [line, line], "body": body}
                for at, (line, body) in enumerate(comments)
            ]
            for repo in repos:
                about = {"schema": 1, "instance": f"{repo}-1", "repo": repo, "language": "python", "title": "T"}
                text = json.dumps({**about, "diff": diff, "comments": known})
                (tmp_path / "instances" / f"{repo}-1.json").write_text(text)
            return provider

        yield start
