"""Placeholders that ``new`` left for the author: check and certify refuse an instance that still holds one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_crab.types import Instance

#: Stands in a text that its author is to write.
PLACEHOLDER = "(to be written)"

#: Stands in an oracle that its author is to write.
STUB = "to be written: pytest-crab refuses this file until this line is gone"


def unwritten(instance: Instance) -> Iterator[str]:
    """Yield a sentence for each text or oracle of an instance that is still as pytest-crab set new left it."""
    for key, text in (("title", instance.pull_request.title), ("body", instance.pull_request.body)):
        if PLACEHOLDER in text:
            yield f"pull_request.{key} is still {PLACEHOLDER}; write what reviewers should see"
    for number, comment in enumerate(instance.comments):
        at = f"comments[{number}]"
        if PLACEHOLDER in comment.body:
            yield f"{at}.body is still {PLACEHOLDER}; write what the reviewer said, in your own words"
        if comment.oracle is not None:
            path = Path(instance.folder, comment.oracle.file)
            if STUB in path.read_text("utf-8", "replace"):
                yield (
                    f"{at}.oracle.file ({comment.oracle.file}) is still to be written: a test that fails on the pull "
                    "request and passes once the comment is resolved"
                )
