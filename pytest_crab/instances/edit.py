"""Puts another environment, tags or isolation into an instance's file, and leaves the rest of it as it is written."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.instances.dump import instance_yaml
from pytest_crab.instances.files import replace_text
from pytest_crab.instances.loading import FILE, load_instance
from pytest_crab.types import Instance, Isolation

_KEY = re.compile(r"^([A-Za-z_]+|\"[A-Za-z_]+\"|'[A-Za-z_]+') *:", re.MULTILINE)


def rewrite(instance: Instance) -> None:
    """Write ``instance``'s environment, tags and isolated oracles into its file, whose other lines stay as they are.

    The file is replaced in one step, and only by one that loads as this instance. Raises BadInput if it would not.
    """
    path = Path(instance.folder, FILE)
    text = path.read_text("utf-8-sig")
    wanted = instance_yaml(instance)
    known = load_instance(path)
    for key in ("environment", "tags"):
        if getattr(known, key) != getattr(instance, key):
            text = _with_block(text, key, _block(wanted, key))
    oracles = {comment.id: comment.oracle for comment in known.comments}
    for comment in instance.with_oracles:
        if comment.required_oracle.isolation is Isolation.PROCESS and comment.oracle != oracles.get(comment.id):
            text = _with_isolation(text, comment.required_oracle.file)
    try:
        same = dataclasses.replace(load_instance(path, text.encode()), folder=instance.folder) == instance
        problems = (
            [] if same else ["its environment, or an oracle that is isolated, is not on lines of its own; it should be"]
        )
    except BadInput as error:
        problems = list(error.problems)
    if problems:
        raise BadInput(str(path), [f"the result was not written: {problem}" for problem in problems])
    replace_text(path, text)


def _with_isolation(text: str, file: str) -> str:
    """Isolate the oracle of this file, however its line is written: a name, a mapping on the line, or one below."""
    name = rf"[\"']?{re.escape(file)}[\"']?"
    end = r"(?P<end> *(?:#.*)?)$"
    given = r"(?:, *isolation: *\w+)?"
    forms = {
        rf"^(?P<key>[ -]*oracle: *)(?P<name>{name}){end}": r"\g<key>{file: \g<name>, isolation: process}\g<end>",
        rf"^(?P<key>[ -]*oracle: *){{(?P<first>.*file: *{name}[^,}}]*){given}(?P<last>.*)}}{end}": (
            r"\g<key>{\g<first>, isolation: process\g<last>}\g<end>"
        ),
        rf"^(?P<indent> +)file: *(?P<name>{name}){end}": r"\g<0>\n\g<indent>isolation: process",
    }
    for pattern, made in forms.items():
        text, count = re.subn(pattern, made, text, count=1, flags=re.MULTILINE)
        if count:
            break
    return text


def _block(text: str, key: str) -> str:
    start, end = _span(text, key)
    return text[start:end]


def _with_block(text: str, key: str, block: str) -> str:
    start, end = _span(text, key)
    before = text[:start] if not text[:start] or text[:start].endswith("\n") else f"{text[:start]}\n"
    return before + block + text[end:]


def _span(text: str, key: str) -> tuple[int, int]:
    """Return start and end of a top-level key's lines; both are the end of the text if the key is missing."""
    keys = [(match.group(1).strip("\"'"), match.start()) for match in _KEY.finditer(text)]
    for number, (name, start) in enumerate(keys):
        if name == key:
            return start, keys[number + 1][1] if number + 1 < len(keys) else len(text)
    return len(text), len(text)
