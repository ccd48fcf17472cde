"""Compiled templates, kept in the user's cache: to compile them takes longer than to render a page."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError

from jinja2.bccache import Bucket, FileSystemBytecodeCache

from pytest_crab.scratch import user_cache


class CompiledTemplates(FileSystemBytecodeCache):
    """Jinja's cache in the user's cache folder; what cannot be kept there is compiled again."""

    def __init__(self) -> None:
        super().__init__(str(user_cache() / "templates"), "%s.jinja")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is kept of a template, if it was made of the same text by the same interpreter and Jinja."""
        try:
            super().load_bytecode(bucket)
        except (EOFError, OSError, UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, where this user may write; never in the package, which pip could not remove."""
        with suppress(OSError):
            Path(self.directory).mkdir(mode=0o700, parents=True, exist_ok=True)
            super().dump_bytecode(bucket)
