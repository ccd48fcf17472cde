"""The harnesses that overhead.py is measured against, each in an environment of its own; stdlib only.

The environment is made, the package installed from the index that pip uses, and this file started with that
environment's Python; from then on a line asks for a run and a line of JSON answers with its seconds, so that neither
install nor start-up nor imports are measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SWEBENCH = "swebench==5.0.2"
INSPECT_AI = "inspect-ai==0.3.285"
#: The oldest engine that inspect-ai starts containers on.
INSPECT_ENGINE = 24
#: Where the environments are kept, so that a second measurement installs nothing.
KEPT = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "pytest-crab-benchmarks"

#: Evaluates the instance under a name; what it gives finds the problem of the result, None if it is right.
Evaluate = Callable[[str], Callable[[], "str | None"]]

#: PID 1 of swebench's containers is `tail`, which ignores SIGTERM, so each waits out a grace time of 15 s. This one
#: obeys: what is measured is swebench at its best.
OBEDIENT = 'FROM {image}\nENTRYPOINT ["sh", "-c", "trap \'exit 0\' TERM; \\"$@\\" & wait", "sh"]\nCMD ["true"]\n'
EVALUATION = """\
#!/bin/bash
set -uxo pipefail
cd /testbed
cat > test_c0.py <<'END_OF_ORACLE'
{oracle}END_OF_ORACLE
: '>>>>> Start Test Output'
python -m pytest -rA -p no:cacheprovider test_c0.py
: '>>>>> End Test Output'
rm test_c0.py
"""
#: What inspect-ai would do of its own accord is named here so that it is not asked for: the image is local, so nothing
#: is built or pulled; a process that obeys SIGTERM is the container's first, so no grace time is waited out.
COMPOSE = """\
services:
  default:
    image: {image}
    x-local: true
    init: true
    command: [sleep, infinity]
    network_mode: none
    working_dir: /testbed
"""
#: The one command that inspect-ai's scorer runs: the revision comes on its standard input, the oracle as an argument.
SCORED = 'git apply - && printf %s "$1" >test_c0.py && python -m pytest -q -p no:cacheprovider test_c0.py'


class Rival:
    """One harness, warm, in a process of its own; ``seconds`` are those of one run that gave the right result."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self) -> float:
        """Run the instance once; the seconds on the wall's clock. Raises RuntimeError for a result that is wrong."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"problem": "its process ended"}')
        if "problem" in answer:
            raise RuntimeError(str(answer["problem"]))
        return float(answer["seconds"])


@contextlib.contextmanager
def swebench(folder: Path, image: str, patch: str, oracle: str) -> Iterator[Rival | str]:
    """The evaluation by swebench of the instance in ``image``; or the sentence that says why it cannot be had."""
    obedient = f"{image.rpartition(':')[0]}-obedient:latest"
    built = subprocess.run(
        ["docker", "build", "-q", "-t", obedient, "-"], input=OBEDIENT.format(image=image), text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    if built.returncode != 0:
        yield f"swebench: its image cannot be built ({_last(built.stderr)})"
        return
    row = {
        "instance_id": "counted-0",
        "repo": "pallets/click",
        "version": "8.1",
        "base_commit": "HEAD",
        "patch": patch,
        "test_patch": "",
        "problem_statement": "",
        "image": obedient,
        "eval_script": EVALUATION.format(oracle=oracle),
        "log_parser": "parse_log_pytest",
        "eval_type": "pass_and_fail",
        "FAIL_TO_PASS": ["test_c0.py::test_one"],
        "PASS_TO_PASS": [],
    }
    (folder / "row.json").write_text(json.dumps([row]))
    try:
        with _started(SWEBENCH, folder) as rival:
            yield rival
    finally:
        subprocess.run(["docker", "rmi", "-f", obedient], capture_output=True, check=False)


@contextlib.contextmanager
def inspect_ai(folder: Path, image: str, patch: str, oracle: str, engine: str) -> Iterator[Rival | str]:
    """The evaluation in inspect-ai's docker sandbox; or the sentence that says why it cannot be had."""
    if int(engine.partition(".")[0]) < INSPECT_ENGINE:
        yield f"inspect-ai needs Docker Engine {INSPECT_ENGINE} or later, and this one is {engine}"
        return
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode != 0:
        yield "inspect-ai needs docker compose, and the docker client here has no such plugin"
        return
    (folder / "compose.yaml").write_text(COMPOSE.format(image=image))
    (folder / "sample.json").write_text(json.dumps({"patch": patch, "oracle": oracle}))
    with _started(INSPECT_AI, folder) as rival:
        yield rival


@contextlib.contextmanager
def _started(package: str, folder: Path) -> Iterator[Rival | str]:
    python = KEPT / package / "bin" / "python"
    try:
        if not (KEPT / package / "whole").exists():
            print(f"installing {package} into {KEPT / package}", file=sys.stderr)
            venv.create(KEPT / package, with_pip=True, clear=True)
            install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", package]
            subprocess.run(install, check=True, capture_output=True, text=True)
            (KEPT / package / "whole").touch()
    except (OSError, subprocess.CalledProcessError) as error:
        yield f"{package} cannot be installed ({_last(getattr(error, 'stderr', None) or str(error))})"
        return
    name = package.partition("=")[0]
    log = folder / f"{name}.log"
    with log.open("w") as stderr, subprocess.Popen(
        [str(python), __file__, name],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "XDG_DATA_HOME": str(folder)},
    ) as process:  # fmt: skip
        rival = Rival(process)
        try:
            rival.run()  # imports, connections and the first of everything
        except RuntimeError as error:
            yield f"{package} gave no result ({error}: {_last(log.read_text())})"
        else:
            yield rival
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.kill()


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1][:300]


def serve(warm: Callable[[], Evaluate]) -> None:
    """Evaluate once for each line that comes in, under a new name; answer with the seconds or with the problem."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is printed goes to the log
    evaluate = warm()
    for number, _ in enumerate(sys.stdin):
        answers.write(json.dumps(evaluated(evaluate, f"run{number}")) + "\n")
        answers.flush()


def evaluated(evaluate: Evaluate, name: str) -> dict[str, Any]:
    """What a run is answered with: its seconds, or the problem."""
    start = time.perf_counter()
    try:
        find_problem = evaluate(name)
    except Exception as error:  # noqa: BLE001 - whatever it is, nothing is measured and it is said why
        return {"problem": " ".join(str(error).split()) or type(error).__name__}
    seconds = time.perf_counter() - start
    problem = find_problem()
    return {"seconds": seconds} if problem is None else {"problem": problem}


def warm_swebench() -> Evaluate:
    """Import what evaluates the row in row.json."""
    from swebench.harness import run_evaluation

    def evaluate(name: str) -> Callable[[], str | None]:
        run_evaluation.main(
            dataset_name="row.json", split="test", instance_ids=[], predictions_path="gold", max_workers=1,
            open_file_limit=4096, run_id=name, timeout=600, rewrite_reports=False, modal=False, report_dir=".",
        )  # fmt: skip
        report = Path("logs/run_evaluation", name, "gold/counted-0/report.json")

        def find_problem() -> str | None:
            if report.exists() and json.loads(report.read_text())["counted-0"]["resolved"]:
                return None
            return "swebench did not say that the gold patch resolves the instance"

        return find_problem

    return evaluate


def warm_inspect_ai() -> Evaluate:
    """Import what evaluates sample.json: a mock model answers with the revision, a scorer applies and tests it."""
    from inspect_ai import Task, eval as run_task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
    from inspect_ai.util import sandbox

    given = json.loads(Path("sample.json").read_text())

    @scorer(metrics=[accuracy()])  # type: ignore[untyped-decorator]
    def tested() -> Any:
        async def score(state: Any, _target: Any) -> Any:
            done = await sandbox().exec(["sh", "-c", SCORED, "sh", given["oracle"]], input=state.output.completion)
            return Score(value=CORRECT if done.success else INCORRECT, explanation=done.stdout + done.stderr)

        return score

    def evaluate(name: str) -> Callable[[], str | None]:
        output = ModelOutput.from_content("mockllm/model", given["patch"])
        output.usage = ModelUsage()  # else tokens are counted, with a table from the network
        (log,) = run_task(
            Task([Sample("Resolve the comment.")], scorer=tested(), sandbox=("docker", "compose.yaml")),
            model=get_model("mockllm/model", custom_outputs=[output]),
            display="none", log_dir=name, log_realtime=False, score_display=False, ctl_server=False,
            sandbox_prebuilt=True,
        )  # fmt: skip

        def find_problem() -> str | None:
            if log.status != "success":
                return f"inspect-ai ended with {log.error.message if log.error else log.status}"
            result = log.samples[0].scores["tested"]
            return None if result.value == CORRECT else f"inspect-ai scored a right revision {result.value}"

        return find_problem

    return evaluate


if __name__ == "__main__":
    serve({"swebench": warm_swebench, "inspect-ai": warm_inspect_ai}[sys.argv[1]])
