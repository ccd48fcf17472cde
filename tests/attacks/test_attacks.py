"""Revisions that look right to a careless command and are wrong: each is green there, and missed here."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hostile.careless import COMMANDS, careless, filled
from hostile.catalogue import REVISIONS
from hostile.ledger import ORACLE, setup_diff, sizes
from hostile.revisions import NO_TESTS, RIGHT, WRONG
from hostile.shape import Kind, Revision

from pytest_crab import harness
from pytest_crab.protocols import ORACLE_LIMITS, FileChange, InstallResult, Limits
from pytest_crab.types import Environment, Judgement, Oracle, Proof, Reason, Run, Verdict
from pytest_crab.verdict import ProofEvidence, judge, prove

if TYPE_CHECKING:
    from conftest import Place

#: Small, so that what is too much is soon reached.
LIMITS = Limits(memory=256, processes=48, cpus=1.0, disk=64, file=64)
SMALLEST = replace(LIMITS, memory=96)
OUTPUT = 1 << 20
PLACES = [
    "plain",
    pytest.param("local", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=pytest.mark.docker),
]


def changes(files: Mapping[str, str | bytes]) -> list[FileChange]:
    contents = {path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()}
    return [
        FileChange(path=path, mode="100755" if content[:2] == b"#!" else "100644", content=content)
        for path, content in contents.items()
    ]


def examine(
    place: Place, states: Mapping[str, Mapping[str, str | bytes]], paths: tuple[str, ...] = (".",),
    *, limits: Limits = ORACLE_LIMITS, seconds: Mapping[str, float] | None = None, output: int = 16 << 20,
    installed: InstallResult | None = None,
) -> dict[str, Run]:  # fmt: skip
    """Run the oracle once in each state, all in one sandbox; if one of them ends it, each in its own."""
    oracle = Oracle(file="oracles/test_c0.py")
    runs = [
        harness.OracleRun(id=state, state=state, seconds=(seconds or {}).get(state, 60), oracle=oracle, source=ORACLE)
        for state in states
    ]
    job = harness.Job(
        image=place.image, environment=Environment(dockerfile="python", paths=paths), runs=runs,
        states={state: changes(files) for state, files in states.items()}, output=output,
        installs=dict.fromkeys(states, installed or InstallResult()),
    )  # fmt: skip
    done = place.runtime.execute(place.image, harness.commands(job), limits=limits, seconds=job.seconds)
    report = harness.parse(job, done)
    if report.problems and len(states) > 1:
        more = {"limits": limits, "seconds": seconds, "output": output, "installed": installed}
        return {state: examine(place, {state: files}, paths, **more)[state] for state, files in states.items()}
    return {run.id: run for run in report.runs}


@pytest.fixture(scope="session")
def proof(place: Place) -> Proof:
    runs = examine(place, {"head": {}, "reference": {"ledger.py": RIGHT}})
    proof = prove(ProofEvidence(instance="attacks", comment="c0", head=[runs["head"]], reference=[runs["reference"]]))
    assert isinstance(proof, Proof), proof
    return proof


@pytest.fixture(scope="session")
def played(
    place: Place, doors: Mapping[str, str], made_once: Callable[[str, Callable[[Path], object]], Path]
) -> Callable[[Revision], Run]:
    """Plays an attack; all of one batch are played together, once for all workers, when the first is asked for."""
    known: dict[str, Run] = {}

    def batch(attack: Revision) -> list[Revision]:
        if attack.alone or (attack.install and place.instance is not None):
            return [attack]
        same = [other for other in REVISIONS if (other.confined, other.roots) == (attack.confined, attack.roots)]
        return [other for other in same if not (other.alone or (other.install and place.instance is not None))]

    def run(attack: Revision, together: Sequence[Revision]) -> dict[str, Run]:
        limits = SMALLEST if attack.alone else LIMITS
        small = {"limits": limits, "output": OUTPUT} if attack.confined else {}
        told = {**doors, **sizes(limits, OUTPUT, attack.seconds)}
        states = {other.name: filled(other.files, {**told, "seconds": str(other.seconds)}) for other in together}
        seconds = {other.name: other.seconds for other in together}
        installed = install(place, attack) if attack.install and place.instance is not None else None
        roots = tuple(attack.roots.split(":"))
        return examine(place, states, roots, seconds=seconds, installed=installed, **small)  # type: ignore[arg-type]

    def play(attack: Revision) -> Run:
        if attack.name not in known:
            together = batch(attack)

            def make(folder: Path) -> None:
                (folder / "runs").write_bytes(pickle.dumps(run(attack, together)))

            batch_id = f"attacks-{type(place.runtime).__name__}-{REVISIONS.index(together[0])}"
            known.update(pickle.loads((made_once(batch_id, make) / "runs").read_bytes()))
        return known[attack.name]

    return play


def install(place: Place, attack: Revision) -> InstallResult:
    """Install the revised tree as a trial does; what of it is carried over."""
    assert place.snapshot is not None
    tree = place.snapshot.apply(setup_diff(str(attack.files["setup.py"])))
    return place.runtime.reinstall(place.image, place.instance, place.snapshot, tree)


def grounds() -> Iterable[object]:
    """Each attack in each place where it can be played.

    The plain harness has no sandbox, and what only a sandbox stops is played under Docker by test_record.py.
    """
    for ground in PLACES:
        name = ground if isinstance(ground, str) else ground.values[0]
        marks = () if isinstance(ground, str) else ground.marks
        for attack in REVISIONS:
            if name == "local" or not (attack.confined or (attack.install and name == "docker")):
                yield pytest.param(name, attack, marks=marks, id=f"{attack.name}-{name}")


@pytest.mark.parametrize(("place", "attack"), list(grounds()), indirect=["place"], scope="session")
def test_an_attack_is_missed_for_its_reason(
    place: Place, proof: Proof, played: Callable[[Revision], Run], measured: Callable[..., None], attack: Revision
) -> None:
    judgement = judge(proof, played(attack))
    measured(attack.name, refused=judgement.verdict is Verdict.MISSED)
    assert judgement.verdict is Verdict.MISSED
    assert judgement.reason is attack.reason, judgement.detail
    assert attack.detail in (judgement.detail or "")


def sandboxed(command: str) -> tuple[pytest.MarkDecorator, ...]:
    """What a careless command needs of the machine."""
    return (pytest.mark.bubblewrap,) if COMMANDS[command][0] == "bwrap" else ()


def twins() -> Iterable[object]:
    """Each attack, for its careless command."""
    for attack in REVISIONS:
        yield pytest.param(attack, marks=sandboxed(attack.command), id=attack.name)


@pytest.mark.slow(reason="the twin of each attack is run too, to show that it works elsewhere")
@pytest.mark.parametrize("attack", list(twins()))
def test_the_same_attack_is_green_to_a_careless_command(
    attack: Revision, head: dict[str, str], doors: Mapping[str, str], measured: Callable[..., None], tmp_path: Path
) -> None:
    shut = [name for name, door in doors.items() if not door and f"{{{name}}}" in str(attack.files)]
    if shut:
        pytest.skip(f"the kernel has no {shut[0]} for this process here, so there is nothing to be reached")
    files = filled(attack.files, {**doors, **sizes(LIMITS, OUTPUT, attack.seconds)})
    live = careless(replace(attack, files=files), {**head, "test_c0.py": ORACLE}, tmp_path)
    measured(attack.name, live=live)
    assert live


@pytest.mark.parametrize("command", [pytest.param(name, marks=sandboxed(name)) for name in COMMANDS])
def test_the_careless_commands_see_an_honest_failure(
    command: str, head: dict[str, str], doors: Mapping[str, str], tmp_path: Path
) -> None:
    honest = Revision(kind=Kind.FORGED, name="none", files={}, reason=Reason.FAILED, command=command)
    assert not careless(honest, {**head, "test_c0.py": ORACLE}, tmp_path)


def verdict(place: Place, proof: Proof, files: Mapping[str, str]) -> Judgement:
    return judge(proof, examine(place, {"revision": files})["revision"])


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"conftest.py": "import pytest\n@pytest.fixture\ndef book():\n    return {}\n"},
        {"setup.cfg": "[metadata]\nname = ledger\n[tool:pytest]\naddopts = -q\n", "tox.ini": "[tox]\n"},
        {"test_c0.py": "def test_mine():\n    pass\n", "test_other.py": "def test_more():\n    pass\n"},
    ],
    ids=["alone", "conftest", "settings", "tests"],
)
def test_an_honest_fix_is_caught_whatever_else_it_edits(place: Place, proof: Proof, files: dict[str, str]) -> None:
    assert verdict(place, proof, {"ledger.py": RIGHT, **files}) == Judgement(reason=Reason.GREEN)


@pytest.mark.parametrize("place", PLACES[1:], indirect=True, scope="session")
@pytest.mark.parametrize("limits", [LIMITS, SMALLEST], ids=["small", "smallest"])
def test_an_honest_fix_is_caught_within_the_limits_of_the_greedy(place: Place, proof: Proof, limits: Limits) -> None:
    runs = examine(place, {"fix": {"ledger.py": RIGHT}}, limits=limits, output=OUTPUT)
    assert judge(proof, runs["fix"]).reason is Reason.GREEN


@pytest.mark.parametrize("number", ["SIGKILL", "SIGTERM"])
def test_ending_the_supervisor_is_no_way_out(place: Place, proof: Proof, number: str) -> None:
    text = f"import os, signal\nos.kill(os.getppid(), signal.{number})\n"
    assert verdict(place, proof, {"ledger.py": text + WRONG}).reason is Reason.EXITED


def test_settings_of_the_environment_are_not_read(place: Place, proof: Proof, tmp_path: Path) -> None:
    (tmp_path / "zz.pth").write_text(f"import sys; exec({NO_TESTS!r})\n")
    (tmp_path / "sitecustomize.py").write_text(NO_TESTS)
    (tmp_path / "usercustomize.py").write_text(NO_TESTS)
    image = replace(place.image, site=(str(tmp_path), *place.image.site))
    judgement = verdict(replace(place, image=image), proof, {})
    assert judgement.reason is Reason.FAILED
