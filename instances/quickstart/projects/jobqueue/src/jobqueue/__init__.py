"""Jobs that are put into a queue, kept in a file and run by workers."""

from jobqueue.errors import DuplicateTask, JobNotFound, QueueError, StorageError, UnknownTask
from jobqueue.job import Job, State
from jobqueue.queue import Queue
from jobqueue.storage import load, save
from jobqueue.tasks import Tasks
from jobqueue.worker import Worker

__all__ = [
    "DuplicateTask",
    "Job",
    "JobNotFound",
    "Queue",
    "QueueError",
    "State",
    "StorageError",
    "Tasks",
    "UnknownTask",
    "Worker",
    "load",
    "save",
]
