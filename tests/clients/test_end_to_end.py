"""Whole runs: real clients review and revise an instance in containers, and a killed run leaves no process."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_crab.testing.provider import Asked
from pytest_crab.testing.provider import Reply
from pytest_crab.testing.provider import ScriptedProvider
from pytest_crab.testing.provider import run
from pytest_crab.testing.provider import say
from pytest_crab.testing.provider import turns

QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"
INSTANCE = "router-12-trailing-slash"
PROJECT = "router"
KEY = "sk-planted-9f31c7d2-do-not-tell"
CLIENTS = os.environ.get("CRAB_TEST_CLIENTS", "")
#: Told from that of other workers by its number.
NAP = f"62.{os.getpid()}"

pytestmark = [pytest.mark.bubblewrap, pytest.mark.client("claude-code", "codex")]


def forms_of(secret: bytes) -> list[bytes]:
    """The secret as it is, in hex, and what of it every base64 has, wherever in the text it begins."""
    coded = []
    for before in range(3):
        text = base64.b64encode(b"x" * before + secret)
        coded.append(text[4 if before else 0 : len(text) - 4])
    return [secret, secret.hex().encode(), *coded]


FORMS = forms_of(KEY.encode())


def holds_key(data: bytes) -> bool:
    """Whether the key is in there, also if it is encoded, or packed as git and gzip do."""
    texts = [data]
    if data[:2] == b"\x1f\x8b":
        texts.append(gzip.decompress(data))
    elif data[:1] == b"\x78":
        with contextlib.suppress(zlib.error):
            texts.append(zlib.decompressobj().decompress(data))
    return any(form in text for text in texts for form in FORMS)


def image_holds_key(repository: str) -> bool:
    """Whether the key is in a layer or in the configuration of the newest image of this name."""
    import docker

    client = docker.APIClient(version="auto")
    try:
        newest = max(client.images(name=repository), key=lambda image: image["Created"])
        last = b""
        for chunk in client.get_image(newest["Id"]):
            if any(form in last + chunk for form in FORMS):
                return True
            last = chunk[-200:]
        return False
    finally:
        client.close()


class Place:
    """A folder with one instance, a crab.yaml and a scripted provider; ``act`` is what the agent's shell runs."""

    def __init__(self, folder: Path, provider: ScriptedProvider, tmp: Path) -> None:
        self.folder = folder
        self.tmp = tmp  # where the runs' own folders and locks are; short, for the gateway's socket
        self.provider = provider
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
        settings = {"reviewers": clients, "agents": clients, "models": models}
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
        files = [path for top in (self.folder, self.tmp) for path in top.rglob("*") if path.is_file()]
        assert files
        return [path for path in files if holds_key(path.read_bytes())]

    def move(self, folder: Path) -> None:
        """Go on in another folder, with the recordings and the proofs and nothing else of what was made."""
        folder.mkdir()
        for name in ("set", "cassettes", ".crab/steps/proof"):
            shutil.copytree(self.folder / name, folder / name)
        for name in ("crab.yaml", "pytest.ini"):
            shutil.copy(self.folder / name, folder / name)
        self.folder = folder

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments, f"set/{INSTANCE}"]

    @property
    def environment(self) -> dict[str, str]:
        names = ("PATH", "HOME", "LANG", "DOCKER_HOST", "PIP_CERT", "PIP_INDEX_URL")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        kept |= {"CRAB_BASE_IMAGE": os.environ["CRAB_TEST_BASE"]} if "CRAB_TEST_BASE" in os.environ else {}
        keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        return {**kept, **keys, "CRAB_CLIENTS": CLIENTS, "TMPDIR": str(self.tmp)}

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


def test_a_planted_key_is_found(place: Place) -> None:
    key = KEY.encode()
    assert place.leaks() == []
    planted = {
        "raw": b"x" + key,
        "hex": key.hex().encode(),
        "git": zlib.compress(b"blob 9" + key),
        "gzip": gzip.compress(key),
        **{f"base64-{at}": base64.b64encode(b"?" * at + key + b"rest") for at in range(3)},
    }
    for name, data in planted.items():
        (place.tmp / name).write_bytes(data)
    assert {path.name for path in place.leaks()} == set(planted)


@pytest.mark.docker
def test_codex_reviews_and_claude_code_revises_in_containers(place: Place) -> None:
    arguments = ["--reviewer=codex", "--agent=claude-code", "--crab-runtime=docker", "--crab-report=report", "-rA"]
    done = place.run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (place.folder / "report" / "trials.jsonl").read_text().splitlines()
    trial = json.loads(line)
    assert {result["verdict"] for result in trial["results"]} == {"caught"}
    assert len(trial["review"]["findings"]) == len(place.comments)
    assert trial["review"]["usage"] == {"input_tokens": 100, "output_tokens": 20, "requests": 1, "cost_usd": 0.0006}
    assert trial["revision"]["usage"]["requests"] == 2
    assert trial["revision"]["usage"]["cost_usd"] == pytest.approx(0.0012)
    told = trial["versions"]
    assert (told["reviewer"]["client"], told["reviewer"]["version"]) == ("codex", "0.169.0")
    assert (told["agent"]["client"], told["agent"]["version"]) == ("claude-code", "2.1.197")
    assert {told[who]["model"] for who in ("reviewer", "agent")} == {"scripted-model"}
    assert all(len(told[who]["prompt"]) == 64 for who in ("reviewer", "agent"))
    files = [path for path in [*place.folder.rglob("*"), *place.tmp.rglob("*")] if path.is_file()]
    assert len([path for path in files if path.parts[-3] == "transcript"]) == 2
    assert place.leaks() == []
    assert not image_holds_key(f"pytest-crab/{INSTANCE}")
    assert all({KEY, f"Bearer {KEY}"} & set(asked.headers.values()) for asked in place.provider.asked)
    asked = len(place.provider.asked)
    again = place.run(*arguments)
    assert again.returncode == 0
    assert len(place.provider.asked) == asked  # both steps are in the store, under what decided them
    place.move(place.folder / "elsewhere")
    replayed = place.run(*arguments, "--crab-replay")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert len(place.provider.asked) == asked  # and nothing leaves a replay
    told = json.loads((place.folder / "report" / "trials.jsonl").read_text())
    assert [result["verdict"] for result in told["results"]] == [result["verdict"] for result in trial["results"]]
    assert told["revision"]["diff"] == trial["revision"]["diff"]
    assert [step["step"] for step in told["steps"] if step["reused"] and step["step"] in ("review", "revision")] == []


@pytest.mark.parametrize("kind", ["local", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_run_that_is_killed_leaves_no_process(kind: str, place: Place) -> None:
    place.act = f"setsid sleep {NAP} & sleep {NAP}"
    arguments = ["--reviewer=codex", "--agent=claude-code", f"--crab-runtime={kind}"]
    with subprocess.Popen(
        place.command(*arguments), cwd=place.folder, env=place.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        waited = time.monotonic()
        while len(napping()) < 2:
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() - waited < 90
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    waited = time.monotonic()
    while napping() and time.monotonic() - waited < 10:
        time.sleep(0.1)
    assert napping() == []
    assert place.leaks() == []
