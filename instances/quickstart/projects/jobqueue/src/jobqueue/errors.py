"""Everything this package raises."""

from __future__ import annotations


class QueueError(Exception):
    """Base of all errors of this package. Never raised itself."""


class JobNotFound(QueueError, LookupError):
    """No job in this queue has that id."""


class UnknownTask(QueueError, LookupError):
    """A job asks for a task that nobody has registered."""


class DuplicateTask(QueueError, ValueError):
    """Two functions want the same name."""


class StorageError(QueueError):
    """A file of jobs cannot be read."""
