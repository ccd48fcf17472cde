"""Compiled templates, kept beside the package's own bytecode: to compile them takes longer than to render a page."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError

from jinja2.bccache import Bucket, FileSystemBytecodeCache


class CompiledTemplates(FileSystemBytecodeCache):
    """Jinja's cache in the folder for bytecode of this package; what cannot be kept there is compiled again."""

    def __init__(self) -> None:
        super().__init__(str(Path(cache_from_source(__file__)).parent), "%s.jinja")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is kept of a template, if it was made of the same text by the same interpreter and Jinja."""
        try:
            super().load_bytecode(bucket)
        except (EOFError, OSError, UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template where Python may keep bytecode; a read-only installation is left alone."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)
