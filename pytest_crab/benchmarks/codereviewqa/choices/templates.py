"""The prompts of CodeReviewQA's release, read from a checkout of it and kept in the set: its wording, not ours."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.choice_statistics import LETTERS
from pytest_crab.benchmarks.codereviewqa.choices.options import ChangeType, probes_in
from pytest_crab.benchmarks.codereviewqa.choices.questions import CHANGE_TYPE, LINES, numbered_code
from pytest_crab.ecosystems.python.trees import read_python
from pytest_crab.errors import BadInput
from pytest_crab.results.files import read_data
from pytest_crab.types import SCHEMA, Instance

#: The file in a set that holds its templates.
FILE = "templates.json"

#: The release's file, and its constants in the order of the fields of Templates.
_SOURCE = "utils.py"
_CONSTANTS = {"ctr_prompt": "change_type", "cl_prompt": "lines", "si_prompt": "solution", "ct_formatter": "changes"}

#: The release's words for languages.
_LANGUAGES = {
    "c": "C",
    "cpp": "CPP",
    "csharp": "CSharp",
    "go": "Go",
    "java": "Java",
    "javascript": "JavaScript",
    "php": "PHP",
    "python": "Python",
    "ruby": "Ruby",
}

_NEEDED = frozenset({"code_snippet", "code_review"})
_KNOWN = _NEEDED | {"lang", "ct"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """The release's prompts, with fields in braces, and its words."""

    schema: int = SCHEMA
    change_type: str
    lines: str
    solution: str
    #: Its words for the types of change.
    changes: Mapping[ChangeType, str]

    def __post_init__(self) -> None:
        for constant, template, count in (
            ("ctr_prompt", self.change_type, 3),
            ("cl_prompt", self.lines, 4),
            ("si_prompt", self.solution, 4),
        ):
            options = {f"option_{letter.lower()}" for letter in LETTERS[:count]}
            found = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
            if not _NEEDED | options <= found <= _KNOWN | options:
                wanted = ", ".join(sorted(_KNOWN | options))
                raise ValueError(f"{constant} has the fields {', '.join(sorted(found))}; it should have {wanted}")
        if set(self.changes) != set(ChangeType):
            raise ValueError("ct_formatter should have a text for each of the three types of change")

    def fill(self, instance: Instance, probe: str, options: Sequence[Any]) -> str:
        """Return the whole prompt of a probe with its options, as ``options_of`` has them, in this order."""
        probes = probes_in(instance)
        assert probes is not None
        template = self.change_type if probe == CHANGE_TYPE else self.lines if probe in LINES else self.solution
        return template.format(
            lang=_LANGUAGES.get(instance.language, instance.language),
            code_snippet=numbered_code(instance),
            code_review=instance.comments[0].body,
            ct=self.changes[probes.change],
            **{f"option_{letter.lower()}": self._text(each) for letter, each in zip(LETTERS, options, strict=False)},
        )

    def _text(self, option: ChangeType | tuple[int, ...] | str) -> str:
        if isinstance(option, ChangeType):
            return self.changes[option]
        return ",".join(map(str, option)) if isinstance(option, tuple) else f"\n{option}"


def read_release(checkout: Path) -> Templates:
    """Return the templates of a checkout of the release. Raises BadInput."""
    file = checkout / _SOURCE
    found = {}
    try:
        for node in read_python(file.read_bytes()).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                field = _CONSTANTS.get(node.targets[0].id)
                if field is not None and isinstance(node.value, (ast.Constant, ast.Dict)):
                    found[field] = ast.literal_eval(node.value)
    except (OSError, SyntaxError, ValueError) as error:
        problem = f"it cannot be read ({error}); name a folder with a checkout of CodeReviewQA's code"
        raise BadInput(str(file), [problem]) from error
    missing = [constant for constant, field in _CONSTANTS.items() if field not in found]
    problems = [f"it has no constant {name}" for name in missing]
    templates = None if missing else serialization.read(Templates, found, problems)
    if templates is None or problems:
        raise BadInput(str(file), problems)
    return templates


def templates_of(instance: Instance) -> Templates | None:
    """Return the templates that an instance's set keeps; None where it keeps none. Raises BadInput."""
    return _read(Path(instance.folder).parent / FILE)


@functools.cache
def _read(path: Path) -> Templates | None:
    return read_data(path, Templates) if path.is_file() else None
