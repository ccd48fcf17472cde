"""SWE-PRBench's contexts A, B and C (arXiv 2603.26130, section 4 and appendix B): layers with budgets of tokens.

What a layer does not use goes to the next one. Nothing is cut: a part that does not fit is left out whole and named.
The paper's budgets of layers do not add up to those of its contexts; ours lie within both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crab.clients.whole_parts import FileDiff, Part, count_tokens, file_diffs, fit, is_test
from pytest_crab.diffs import Hunk, parse_hunks
from pytest_crab.ecosystems.python import surroundings
from pytest_crab.parsing import source_code
from pytest_crab.text import split_lines
from pytest_crab.types import PullRequest, StrEnum


class LayeredContext(StrEnum):
    """One of the three contexts."""

    A = "A"
    B = "B"
    C = "C"


#: The tokens of each layer, in the order of the prompt; they add up to 2,000, 2,200 and 2,500.
BUDGETS: Mapping[LayeredContext, Mapping[str, int]] = {
    LayeredContext.A: {"Task": 200, "Key changes": 200, "Diff": 1400, "Pull request": 200},
    LayeredContext.B: {
        "Task": 200, "Key changes": 200, "Diff": 800, "Changed code before the pull request": 500,
        "Related files": 200, "Settings that the code reads": 100, "Pull request": 200,
    },
    LayeredContext.C: {
        "Task": 200, "Key changes": 200, "Diff": 800, "Changed code before the pull request": 500,
        "Related files": 200, "Settings that the code reads": 100, "Tests": 300, "Pull request": 200,
    },
}  # fmt: skip

#: The most files of the diff that are shown.
MOST_FILES = 4

#: Languages whose settings are mapped.
_MAPPED = (".go", ".ts", ".tsx")

#: In this language it is known who imports what; in others a name tells.
_PYTHON = ".py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A context as text."""

    text: str
    #: About how many tokens its layers have.
    tokens: int
    #: The names of what did not fit.
    left_out: tuple[str, ...]


def assemble(parts: Mapping[str, Sequence[Part]], budgets: Mapping[str, int]) -> Assembled:
    """Return the layers of ``budgets`` in order, each with those of its parts that fit; unused tokens roll over."""
    texts: list[str] = []
    left_out: list[str] = []
    carried = 0
    for layer, budget in budgets.items():
        room = budget + carried
        head = Part(name=layer, text=f"{layer}:")
        kept, left = fit(parts.get(layer, ()), room - head.tokens, MOST_FILES if layer == "Diff" else None)
        shown = [head, *kept] if kept else []
        texts += [part.text for part in shown]
        carried = room - sum(part.tokens for part in shown)
        left_out += [f"{layer}: {part.name}" for part in left]
    text = "\n\n".join(texts)
    tokens = count_tokens(text)
    told = f"\n\nLeft out whole, since it does not fit: {'; '.join(left_out)}" if left_out else ""
    return Assembled(text=text + told, tokens=tokens, left_out=tuple(left_out))


def layers(pull_request: PullRequest, summary: str | None, tree: Mapping[str, str] | None) -> dict[str, list[Part]]:
    """Return the parts of each layer; ``tree`` are the texts of the head, None where no layer needs them."""
    files = sorted(file_diffs(pull_request.diff), key=lambda file: (file.is_test, -importance(file)))
    found: dict[str, list[Part]] = {
        "Task": [Part(name="title", text=f"Review this pull request: {pull_request.title}")],
        "Key changes": [Part(name="summary", text=summary)] if summary else [],
        "Diff": list(files),
        "Pull request": list(_metadata(pull_request, files)),
    }
    if tree is not None:
        changed = [file.name for file in files]
        found["Changed code before the pull request"] = list(_changed_code(pull_request.diff, tree, changed))
        found["Related files"] = list(_related_files(tree, changed))
        mapped = {path: text for path, text in tree.items() if path in changed and path.endswith(_MAPPED)}
        found["Settings that the code reads"] = _parts(source_code.environment_bindings(mapped))
        found["Tests"] = list(_tests(tree, changed))
    return found


def importance(file: FileDiff) -> float:
    """Return the weight of a file of the diff (appendix B); the density is that of comments in the changed code."""
    density = file.comments / file.changed if file.changed else 0.0
    return 0.5 * file.changed + 0.3 * density + 0.2 * file.functions


def old_version(text: str, hunks: Iterable[Hunk]) -> str:
    """Return a file as it was before the hunks, which lead to ``text``."""
    lines = split_lines(text)
    for hunk in sorted(hunks, key=lambda hunk: -hunk.start):
        first = max(0, hunk.start - 1 if hunk.end >= hunk.start else hunk.start)
        lines[first : max(first, hunk.end)] = [line.text for line in hunk.lines if line.mark in " -"]
    return "\n".join(lines)


def _metadata(pull_request: PullRequest, files: Sequence[FileDiff]) -> Iterator[Part]:
    facts = f"{pull_request.repo}, {pull_request.language}, {len(files)} changed files"
    yield Part(name="facts", text=facts)
    for number, paragraph in enumerate(pull_request.body.strip().split("\n\n"), 1):
        if paragraph.strip():
            yield Part(name=f"paragraph {number} of the description", text=paragraph.strip())


def _changed_code(diff: str, tree: Mapping[str, str], changed: Collection[str]) -> Iterator[Part]:
    for file, hunks in parse_hunks(diff):
        if file.path not in changed or is_test(file.path) or file.old is None:
            continue
        before = old_version(tree.get(file.path, ""), hunks)
        lines = {line for hunk in hunks for line in _touched_lines(hunk)}
        if file.path.endswith(_PYTHON):
            parts = surroundings.enclosing_parts(before, lines)
        else:
            parts = source_code.parts_around(file.path, before, lines)
        for number, text in enumerate(parts, 1):
            yield Part(name=f"{file.path}, part {number}", text=f"{file.path}:\n{text}")


def _touched_lines(hunk: Hunk) -> Iterator[int]:
    """Yield the old lines that a hunk removes, and those behind which it adds."""
    last = hunk.old_start
    for line in hunk.lines:
        if line.mark == "-" or (line.mark == "+" and last):
            yield line.old if line.old is not None else last
        last = line.old or last


def _related_files(tree: Mapping[str, str], changed: Collection[str]) -> Iterator[Part]:
    code = {path: text for path, text in tree.items() if not is_test(path)}
    yield from _parts(surroundings.importers(code, changed))
    others = {path: text for path, text in code.items() if not path.endswith(_PYTHON)}
    yield from _parts(source_code.mentions(others, [path for path in changed if not path.endswith(_PYTHON)]))


def _tests(tree: Mapping[str, str], changed: Collection[str]) -> Iterator[Part]:
    """Yield the signatures of changed tests, then of those that import what is changed."""
    tests = {path: text for path, text in tree.items() if is_test(path)}
    near = [*surroundings.importers(tests, changed), *source_code.mentions(tests, changed)]
    for path in dict.fromkeys([*(path for path in changed if path in tests), *(path for path, _ in near)]):
        read = surroundings if path.endswith(_PYTHON) else source_code
        text = read.signatures_of_tests(tests[path])
        if text:
            yield Part(name=path, text=f"{path}:\n{text}")


def _parts(found: Iterable[tuple[str, Sequence[str]]]) -> list[Part]:
    return [Part(name=name, text="\n".join([f"{name}:", *texts])) for name, texts in found]
