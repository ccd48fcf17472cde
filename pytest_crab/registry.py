"""The benchmarks that are installed: each is found by its entry point, and says what it offers.

A name in the entry-point group ``pytest_crab.benchmarks`` stands for a ``Benchmark``. Those of this project are
registered like anybody's. Nothing is looked up before somebody asks for it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pytest_crab.errors import BadInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

T = TypeVar("T")

#: The entry-point group.
GROUP = "pytest_crab.benchmarks"


class Subcommand(NamedTuple):
    """One subcommand."""

    #: "module:object".
    target: str
    #: The subcommand's line in the help.
    summary: str


class Shown(NamedTuple):
    """The text that ``show`` prints of one item."""

    lines: Sequence[str]
    #: What was asked; printed with ``--transcript``.
    asked: Sequence[str]
    #: The keys of the transcripts that are printed with ``--transcript``.
    transcripts: Sequence[str]
    #: The folder that has copies of these transcripts.
    report: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """The offer of one benchmark. Each target, "module:object", is imported only when it is asked for."""

    #: The name as its authors write it.
    title: str
    #: Takes a folder and returns its results.recorded_results.RecordedResults; None where the folder holds none.
    recorded: str | None = None
    #: Takes INSTANCE::CONTESTANT and a report's folder or store, and yields a Shown for each of its own items.
    shown: str | None = None
    #: Takes a report's folder and returns a show.page.more.Section on such items; None where it holds none.
    page: str | None = None
    #: Takes a file and the repositories to take (None: all), and returns a source for ``curate``; None for other files.
    candidates: str | None = None
    #: Click commands, by their names below ``pytest-crab benchmark NAME``; ``import`` is made by cli.importing.
    commands: Mapping[str, Subcommand] = field(default_factory=dict)
    #: Judges that crab.yaml may use, by name: dataclasses, as scoring.judges has them.
    judges: Mapping[str, str] = field(default_factory=dict)
    #: What makes a scorer (scoring.protocols.Scorer), by the name that ``--crab-score`` gives it.
    scorers: Mapping[str, str] = field(default_factory=dict)
    #: Those of them that, beside oracles, judge a run that names none; each says itself which comments it judges.
    default_scorers: tuple[str, ...] = ()
    #: Keys that an instance's file may have for its own items, each with the dataclass that the value is read as. Its
    #: ``faults_in(instance)`` yields why this instance cannot have it. The value is in ``Instance.extra``.
    fields: Mapping[str, str] = field(default_factory=dict)
    #: Sections of crab.yaml that hold variants of adapters of its own.
    sections: tuple[str, ...] = ()


@functools.cache
def benchmarks() -> Mapping[str, Benchmark]:
    """Return the installed benchmarks by name. One whose module is gone is left out.

    Raises BadInput for one that cannot be imported, or is no Benchmark.
    """
    from importlib import metadata  # half of the start of a command that asks for no benchmark

    found = {}
    for entry in sorted(metadata.entry_points(group=GROUP)):
        try:
            benchmark = entry.load()
        except ModuleNotFoundError as error:
            if entry.module == error.name or entry.module.startswith(f"{error.name}."):
                continue
            raise _broken(entry, str(error)) from error
        except (ImportError, AttributeError) as error:
            raise _broken(entry, str(error)) from error
        if not isinstance(benchmark, Benchmark):
            raise _broken(entry, f"it is a {type(benchmark).__name__} and no Benchmark")
        found[entry.name] = benchmark
    return found


def sections() -> tuple[str, ...]:
    """Return the sections of crab.yaml that benchmarks add. Raises BadInput as ``benchmarks`` does."""
    return tuple(section for benchmark in benchmarks().values() for section in benchmark.sections)


def default_scorers() -> tuple[str, ...]:
    """Return the scorers that benchmarks add to a run that names none. Raises BadInput as ``benchmarks`` does."""
    return tuple(name for benchmark in benchmarks().values() for name in benchmark.default_scorers)


def instance_fields() -> dict[str, Any]:
    """Return the dataclasses of the keys that benchmarks add to an instance's file. Raises BadInput."""
    return {key: load(target) for benchmark in benchmarks().values() for key, target in benchmark.fields.items()}


def load(target: str) -> Any:
    """Return the object of a target, "module:object". Raises BadInput where it cannot be imported."""
    module, _, name = target.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BadInput(target, [f"it cannot be imported ({error}); is all that it needs installed here?"]) from error


def offered(part: Callable[[Benchmark], str | None]) -> Iterator[tuple[str, Any]]:
    """Yield title and loaded object of each benchmark that offers this part, by name. Raises BadInput."""
    for benchmark in benchmarks().values():
        target = part(benchmark)
        if target is not None:
            yield benchmark.title, load(target)


class Members(Mapping[str, T]):
    """Values by name: our own, and those of benchmarks, which are looked up for a name that is no own one."""

    def __init__(
        self, own: Mapping[str, T], more: Callable[[Benchmark], Mapping[str, str]], read: Callable[[str], T]
    ) -> None:
        self._own = own
        self._more = more
        self._read = read

    def __getitem__(self, name: str) -> T:
        return self._own[name] if name in self._own else self._read(self._offered()[name])

    def __iter__(self) -> Iterator[str]:
        yield from {**self._own, **self._offered()}

    def __len__(self) -> int:
        return len({*self._own, *self._offered()})

    def _offered(self) -> dict[str, str]:
        return {name: target for one in benchmarks().values() for name, target in self._more(one).items()}


def _broken(entry: EntryPoint, problem: str) -> BadInput:
    return BadInput(f"benchmark {entry.name}", [f"{entry.value} cannot be used ({problem}); mend or uninstall it"])
