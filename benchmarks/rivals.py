"""The harnesses that overhead.py is measured against, each in an environment of its own; stdlib only.

``start`` makes the environment, installs the package from the index that pip uses and starts this file with that
environment's Python; from then on a line of JSON asks for a run and a line answers with its seconds, so that neither
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SWEBENCH = "swebench==5.0.2"
#: The oldest engine that inspect-ai starts containers on.
INSPECT_ENGINE = 24
#: Where the environments are kept, so that a second measurement installs nothing.
KEPT = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "pytest-crab-benchmarks"

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
def inspect_ai(version: str) -> Iterator[Rival | str]:
    """The docker sandbox of inspect-ai. Nothing is asked of it yet: where its engine is there, this says so."""
    if int(version.partition(".")[0]) < INSPECT_ENGINE:
        yield f"inspect-ai needs Docker Engine {INSPECT_ENGINE} or later, and this one is {version}"
        return
    yield "inspect-ai is not driven by this script, which was written where its engine is not to be had"


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
    log = folder / "rival.log"
    with log.open("w") as stderr, subprocess.Popen(
        [str(python), __file__, package.partition("=")[0]],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
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


def serve_swebench() -> None:
    """Evaluate the row in row.json once for each line that comes in."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is printed goes to the log
    from swebench.harness import run_evaluation

    for number, _ in enumerate(sys.stdin):
        run = f"run{number}"
        start = time.perf_counter()
        run_evaluation.main(
            dataset_name="row.json", split="test", instance_ids=[], predictions_path="gold", max_workers=1,
            open_file_limit=4096, run_id=run, timeout=600, rewrite_reports=False, modal=False, report_dir=".",
        )  # fmt: skip
        answer: dict[str, Any] = {"seconds": time.perf_counter() - start}
        report = Path("logs/run_evaluation", run, "gold/counted-0/report.json")
        if not report.exists() or not json.loads(report.read_text())["counted-0"]["resolved"]:
            answer = {"problem": "swebench did not say that the gold patch resolves the instance"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    {"swebench": serve_swebench}[sys.argv[1]]()
