"""Whole runs: real clients review and revise an instance in containers, and a killed run leaves no process."""

from __future__ import annotations

import base64
import functools
import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_crab.clients import installed
from pytest_crab.runtimes.engine import RUN_LABEL
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.leaks import Leaks
from pytest_crab.testing.provider import Asked, ScriptedProvider, run, say, turns

QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"
INSTANCE = "router-12-trailing-slash"
PROJECT = "router"
PROMPT = "Name the concerns that a careful reviewer has."
KEY = "sk-planted-9f31c7d2-do-not-tell"
CLIENTS = os.environ.get("CRAB_TEST_CLIENTS", "")
#: Told from that of other workers by its number.
NAP = f"62{os.getpid()}.{time.monotonic_ns()}"

pytestmark = [pytest.mark.bubblewrap, pytest.mark.client("claude-code", "codex")]


LEAKS = Leaks(KEY)
#: What a running container holds in memory, beside what the engine knows of it: as text, and as one archive.
INSIDE = (
    "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'",
    "tar -cf - /home /tmp /var/tmp /workspace /run /dev/shm",
)
#: Bytes: a larger layer is packages, as they were fetched, and is searched as it is.
LAYER = 8 << 20
REMOVED = 2


@pytest.fixture
def engine() -> Iterator[Any]:
    import docker

    client = docker.from_env().api
    yield client
    client.close()


def image_leaks(engine: Any, repository: str) -> list[str]:
    """The parts that hold the key of the newest image of this name, with its layers, its configuration and history."""
    image = max(engine.images(name=repository), key=lambda image: image["Created"])["Id"]
    with tempfile.TemporaryFile() as file:
        for chunk in engine.get_image(image):
            file.write(chunk)
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            parts = {item.name: archive.extractfile(item) for item in archive if item.isreg()}
            found = [name for name, part in parts.items() if part and within(part.read())]
    return found + ["its history"] * LEAKS.within(json.dumps(engine.history(image)).encode())


def within(data: bytes) -> bool:
    return LEAKS.within(data, deep=len(data) < LAYER)


def container_leaks(engine: Any, container: str) -> list[str]:
    """What a container has changed by the engine's own account, or holds in memory, that holds the key."""
    changed = [each["Path"] for each in engine.diff(container) or [] if each["Kind"] != REMOVED]
    found = [path for path in changed if LEAKS.within(b"".join(engine.get_archive(container, path)[0]))]
    state = engine.inspect_container(container)
    if state["State"]["Running"]:
        ask = functools.partial(engine.exec_create, container, stderr=False, user="1000:1000")  # whose home it is
        processes, files = (engine.exec_start(ask(["sh", "-c", each])["Id"]) for each in INSIDE)
        assert b"sleep" in processes
        assert files[257:262] == b"ustar"
        assert b"home/client/.claude" in files
        found += ["its memory"] * (LEAKS.within(processes) or LEAKS.within(files))
    return found + ["how it was started"] * LEAKS.within(json.dumps(state).encode())


class Place:
    """A folder with one instance, a crab.yaml and a scripted provider; ``act`` is what the agent's shell runs."""

    def __init__(self, folder: Path, provider: ScriptedProvider, tmp: Path) -> None:
        self.folder = folder
        self.tmp = tmp  # where the runs' own folders and locks are; short, for the gateway's socket
        self.provider = provider
        self.clients, self.home = Path(CLIENTS), Path.home()
        shutil.copytree(QUICKSTART / INSTANCE, folder / "set" / INSTANCE)
        shutil.copytree(QUICKSTART / "projects" / PROJECT, folder / "set" / "projects" / PROJECT)
        document = yaml.safe_load((folder / "set" / INSTANCE / "instance.yaml").read_text())
        self.comments = document["comments"]
        clients = {
            name: {"use": name, "model": "scripted-model", "in": "workspace"} for name in ("codex", "claude-code")
        }
        models = {
            "providers": {
                "anthropic": {"base_url": provider.anthropic_url},
                "openai": {"base_url": provider.openai_url},
            },
            "prices": {"scripted-model": {"input": 3, "output": 15}},
            "cassettes": "cassettes",
        }
        clients["codex"] |= {"prompt": "review.md"}
        (folder / "review.md").write_text(PROMPT)
        settings = {"reviewers": clients, "agents": {**clients, "codex": {"use": "codex"}}, "models": models}
        (folder / "crab.yaml").write_text(json.dumps(settings))
        (folder / "pytest.ini").write_text("[pytest]\n")
        self.act = self.mend()
        provider.script = self.script

    def mend(self) -> str:
        """A command that applies the instance's reference."""
        diff = base64.b64encode((self.folder / "set" / INSTANCE / "reference.diff").read_bytes()).decode()
        code = "import base64, sys; sys.stdout.buffer.write(base64.b64decode(sys.argv[1]))"
        return f"python3 -c '{code}' {diff} | git apply -"

    def script(self, asked: Asked) -> Reply:
        """Findings where the humans commented, for codex; the command, for claude."""
        if asked.api == "responses":
            return say(json.dumps(self.review()))
        step = turns(run(self.act), say("Mended."))
        return step(asked)

    def review(self) -> dict[str, Any]:
        findings = [
            {
                "title": "[P2] A concern",
                "body": "This should be mended.",
                "confidence_score": 0.5,
                "priority": 2,
                "code_location": {
                    "absolute_file_path": comment["path"],
                    "line_range": {"start": comment["lines"][0], "end": comment["lines"][1]},
                },
            }
            for comment in self.comments
        ]
        rest = {"overall_correctness": "patch is incorrect", "overall_explanation": "", "overall_confidence_score": 0.5}
        return {"findings": findings, **rest}

    def leaks(self) -> list[Path]:
        """The files, of all that the runs left, that hold the key."""
        assert any(path.is_file() for path in self.folder.rglob("*"))
        return LEAKS.in_files(self.folder, self.tmp)

    def containers(self, engine: Any) -> list[str]:
        """The containers of the runs of this place that are at work."""
        runs = {path.name.split(".")[0] for path in self.tmp.glob("pytest-crab-*/runs/*")}
        found = engine.containers(filters={"label": RUN_LABEL})
        return [each["Id"] for each in found if each["Labels"][RUN_LABEL] in runs]

    def move(self, folder: Path) -> None:
        """Go on in another folder and home, today, with the recordings and nothing else of what was made."""
        folder.mkdir()
        for name in ("set", "cassettes"):
            shutil.copytree(self.folder / name, folder / name)
        for name in ("crab.yaml", "pytest.ini", "review.md"):
            shutil.copy(self.folder / name, folder / name)
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir()
        self.clients = Path(CLIENTS)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments, f"set/{INSTANCE}"]

    @property
    def environment(self) -> dict[str, str]:
        names = ("PATH", "LANG", "DOCKER_HOST", "PIP_CERT", "PIP_INDEX_URL", "PYTEST_ADDOPTS")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        kept |= {"CRAB_BASE_IMAGE": os.environ["CRAB_TEST_BASE"]} if "CRAB_TEST_BASE" in os.environ else {}
        keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        own = {"CRAB_CLIENTS": str(self.clients), "TMPDIR": str(self.tmp), "HOME": str(self.home)}
        return {**kept, **keys, **own, "CRAB_PROOF_RUNS": "1"}

    def trial(self) -> dict[str, Any]:
        (line,) = (self.folder / "report" / "trials.jsonl").read_text().splitlines()
        return dict(json.loads(line))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.environment, capture_output=True, text=True
        )


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ScriptedProvider() as provider, tempfile.TemporaryDirectory(prefix="crab-") as short:
        yield Place(tmp_path_factory.mktemp("place"), provider, Path(short))


def napping() -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"sleep {NAP}" in line:
            found.append(line)
    return found


#: How a key is left behind, by name.
SPELLED = {
    "raw": b"x" + KEY.encode(),
    "hex": KEY.encode().hex().encode(),
    "json": "".join(f"\\u{ord(one):04x}" for one in KEY).encode(),
    "json in json": json.dumps(json.dumps({"key": KEY.replace("-", "\\u002d")})).encode(),
    "git": zlib.compress(b"blob 9" + KEY.encode()),
    "gzip": gzip.compress(KEY.encode()),
    "gzip behind gzip": gzip.compress(b"first") + gzip.compress(KEY.encode()),
    **{f"base64 {at}": base64.b64encode(b"?" * at + KEY.encode() + b"rest") for at in range(3)},
    "json in a database": b"Format 3\0" + json.dumps({"key": KEY.replace("-", "\\u002d")}).encode(),
    "base64 in lines": base64.encodebytes(b"?" * 50 + KEY.encode() + b"?" * 50),
    "base64 of gzip": b'{"body": "' + base64.b64encode(gzip.compress(KEY.encode() * 9)) + b'"}',
}


def zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", data)
    return file.getvalue()


def tarred(**files: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()


PLANTED = {**SPELLED, **{f"{name} in zip": zipped(data) for name, data in SPELLED.items()}}


@pytest.mark.parametrize("top", ["steps/transcript", "report", "ledger", "cassettes", "tmp/runs/home/.claude", "log"])
def test_a_planted_key_is_found(top: str, tmp_path: Path) -> None:
    (tmp_path / top).mkdir(parents=True)
    (tmp_path / top / "harmless").write_bytes(zipped(tarred(a=KEY.encode()[:-1], b=b"\\u00 \\x")) + b"\x1f\x8b")
    assert LEAKS.in_files(tmp_path) == []
    for name, data in PLANTED.items():
        (tmp_path / top / name).write_bytes(data)
    assert {path.name for path in LEAKS.in_files(tmp_path)} == set(PLANTED)


@pytest.mark.docker
def test_a_planted_key_is_found_in_images_and_containers(engine: Any, tmp_path: Path) -> None:
    tag = f"pytest-crab-planted-{os.getpid()}"
    kept = {"sound": b"nothing", "json": SPELLED["json"], "packed": PLANTED["base64 of gzip in zip"]}
    left = {name.replace(" ", "-"): data for name, data in PLANTED.items()}
    for file, data in kept.items():
        (tmp_path / f"{file}.tar").write_bytes(tarred(kept=data))
        engine.import_image_from_file(str(tmp_path / f"{file}.tar"), repository=tag, tag=file)
        container = engine.create_container(f"{tag}:{file}", ["/kept"])["Id"]
        try:
            found = image_leaks(engine, f"{tag}:{file}")
            assert len(found) == (file != "sound"), found
            if file == "sound":
                assert container_leaks(engine, container) == []
                engine.put_archive(container, "/", tarred(**left))
                assert set(container_leaks(engine, container)) == {f"/{name}" for name in left}
        finally:
            engine.remove_container(container)
            engine.remove_image(f"{tag}:{file}")


def linked(source: str, target: str) -> None:
    """The same file in another place, or a copy where that is another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def on_another_day(clients: Path) -> None:
    """The same clients in another folder, for whom it is yesterday or tomorrow where they are, for an hour at least."""
    early = time.gmtime().tm_hour < 11
    zones = {"codex": "XXX12" if early else "XXX-14", "claude-code": "Etc/GMT+12" if early else "Etc/GMT-14"}
    for name, zone in zones.items():
        real = installed.find(name)
        program = clients / name / real.program.relative_to(CLIENTS).relative_to(name)
        tree = real.trees[0].relative_to(CLIENTS)
        shutil.copytree(Path(CLIENTS, tree), clients / tree, copy_function=linked, symlinks=True)
        program.rename(program.with_name("real"))
        program.write_text(f'#!/bin/sh\nexport TZ={zone}\nexec "${{0%/*}}/real" "$@"\n')
        program.chmod(0o755)


def stamps(folder: Path) -> dict[Path, tuple[int, int]]:
    """When each file below a folder was changed, and its size."""
    files = ((path, path.lstat()) for path in folder.rglob("*") if path.is_file())
    return {path: (found.st_mtime_ns, found.st_size) for path, found in files}


def days_in(asked: Sequence[Asked]) -> set[str]:
    """The days that clients believe it is."""
    return set(re.findall(r"(?:Today's date is |<current_date>)(\d{4}-\d\d-\d\d)", str([one.body for one in asked])))


@pytest.mark.docker
def test_codex_reviews_and_claude_code_revises_in_containers(place: Place, engine: Any) -> None:
    place.clients = place.tmp / "clients"
    on_another_day(place.clients)
    installed_then = stamps(place.clients)
    arguments = ["--reviewer=codex", "--agent=claude-code", "--crab-runtime=docker", "--crab-report=report", "-rA"]
    today = time.strftime("%Y-%m-%d", time.gmtime())
    done = place.run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    trial = place.trial()
    assert {score.get("label") for score in trial["scores"] if score["unit"] == "comment"} == {"caught"}
    assert len(trial["review"]["findings"]) == len(place.comments)
    spent = {"input_tokens": 100, "output_tokens": 20, "requests": 1, "tries": 1, "cost_usd": 0.0006}
    asked = {"models": ["scripted-model"], "asked": ["scripted-model"], "failed_requests": 0}
    assert trial["review"]["usage"] == {**spent, **asked}
    assert trial["revision"]["usage"]["requests"] == 2
    assert trial["revision"]["usage"]["cost_usd"] == pytest.approx(0.0012)
    told = trial["versions"]
    assert (told["reviewer"]["client"], told["reviewer"]["version"]) == ("codex", "0.169.0")
    assert (told["agent"]["client"], told["agent"]["version"]) == ("claude-code", "2.1.197")
    assert {told[who]["model"] for who in ("reviewer", "agent")} == {"scripted-model"}
    assert all(len(told[who]["prompt"]) == 64 for who in ("reviewer", "agent"))
    for path, stamp in stamps(place.clients).items():
        if installed_then.get(path) == stamp:  # what was installed is not what the run left
            path.unlink()
    place.clients = Path(CLIENTS)
    files = [path for path in [*place.folder.rglob("*"), *place.tmp.rglob("*")] if path.is_file()]
    assert len([path for path in files if path.parts[-3] == "transcript"]) == 2
    assert place.leaks() == []
    assert image_leaks(engine, f"pytest-crab/{INSTANCE}") == []
    assert all({KEY, f"Bearer {KEY}"} & set(asked.headers.values()) for asked in place.provider.asked)
    asked = len(place.provider.asked)
    (day,) = days_in(place.provider.asked)
    assert day != today
    again = place.run(*arguments)
    assert again.returncode == 0
    assert len(place.provider.asked) == asked  # both steps are in the store, under what decided them

    place.move(place.folder / "elsewhere")
    replayed = place.run(*arguments, "--crab-replay")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert len(place.provider.asked) == asked  # and nothing leaves a replay
    told = place.trial()
    assert [result.get("label") for result in told["scores"]] == [result.get("label") for result in trial["scores"]]
    assert told["revision"]["diff"] == trial["revision"]["diff"]
    assert [step["step"] for step in told["steps"] if step["reused"]] == ["image"]

    (place.folder / "review.md").write_text(PROMPT.replace("concerns", "concernS"))
    missed = place.run(*arguments, "--crab-replay")
    assert missed.returncode == 1
    assert len(place.provider.asked) == asked
    assert {result["reason"] for result in place.trial()["scores"]} == {"broken"}
    lines = [line.rpartition(": ")[2] for line in missed.stdout.splitlines() if re.match(r"\s*[-+]\S+: ", line)]
    assert lines == [PROMPT, PROMPT.replace("concerns", "concernS")]


@pytest.mark.parametrize("kind", ["local", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_run_that_is_killed_leaves_no_process_and_no_key(
    kind: str, place: Place, request: pytest.FixtureRequest, until: Callable[[Callable[[], object]], None]
) -> None:
    engine = request.getfixturevalue("engine") if kind == "docker" else None
    place.act = f"setsid sleep {NAP} & sleep {NAP}"
    arguments = ["--reviewer=codex", "--agent=claude-code", f"--crab-runtime={kind}"]
    with subprocess.Popen(
        place.command(*arguments), cwd=place.folder, env=place.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        until(lambda: len(napping()) >= 2 or process.poll() is not None)
        assert process.poll() is None, process.stdout.read()
        assert place.leaks() == []  # with the clients' homes
        if kind == "docker":
            at_work = place.containers(engine)
            assert at_work
            assert [container_leaks(engine, container) for container in at_work] == [[]] * len(at_work)
        process.send_signal(signal.SIGKILL)
    until(lambda: not napping())
    assert place.leaks() == []
