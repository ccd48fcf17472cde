"""Every error that pytest-crab raises on purpose: one family, one sentence each, data kept as attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class CrabError(Exception):
    """The root of the family; its text is one sentence that says what, where and what to do. Never raised itself."""


class BadInput(CrabError):
    """A file or a setting that a person wrote is wrong.

    ``problems`` holds every fault that was found, each one a sentence, so that one look mends the whole file.
    """

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        super().__init__("\n".join(f"{where}: {problem}" for problem in problems))
        self.where = where
        self.problems = tuple(problems)


class SourceUnreachable(CrabError):
    """The place that a source lies in does not answer from this machine; the instance is skipped, not failed."""


class SourceError(CrabError):
    """The source was reached and is not what the instance says: a wrong digest, a missing commit, a bad archive."""


class ForgeError(CrabError):
    """A forge did not do as it was asked; ``pause``: seconds after which another try may help, None: it would not."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause


class DiffRejected(CrabError):
    """A diff does not apply to the tree it was meant for."""


class ImageError(CrabError):
    """An environment could not be built; ``log`` holds the last lines that the builder printed.

    ``of_machine``: this machine lacks a program, or a server of images or packages did not answer, and another try may
    succeed.
    """

    def __init__(self, message: str, log: str = "", *, of_machine: bool = False) -> None:
        super().__init__(message)
        self.log = log
        self.of_machine = of_machine


class WorldError(CrabError):
    """A failure of the surroundings, not of a contestant; a step is tried again if ``passing`` is true.

    Never raised itself.
    """

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class EngineError(WorldError):
    """The container engine, the disk or the sandbox program failed, and not the code that ran inside."""


class DiskShort(EngineError):
    """A disk was nearly full while a sandbox wrote there, and it is not known whether the sandbox filled it."""


class InstallFailed(CrabError):
    """A revised tree's own install command failed where the head's succeeded: the revision's doing."""


class StatusError(CrabError):
    """A failure with a ``status``, a word of the status table.

    ``final``: the gateway has asked the provider as often as it may be asked, so the step is not made again. Never
    raised itself.
    """

    def __init__(self, message: str, status: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.final = False


class ModelError(StatusError):
    """A model gave no usable answer; the caller that asked says whose failure that is. Never raised itself."""


class ModelUnavailable(ModelError):
    """No answer came: the provider is overloaded, broken or too slow, or it refused the key or the request."""


class ModelRefused(ModelError):
    """The model refuses to answer."""


class MalformedAnswer(ModelError):
    """The answer is cut, not in its provider's protocol, or not what was asked for."""


class BudgetSpent(ModelError):
    """The models that were asked have cost all that one trial may cost."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status="limit")


class ContestantError(StatusError):
    """A contestant's failure, a reviewer's or an agent's. Never raised itself."""


class ReviewerError(ContestantError):
    """The reviewer gave no usable review: it timed out, crashed or printed something that is not findings."""


class AgentError(ContestantError):
    """The coding agent gave no usable revision: it timed out, crashed or cannot act on these findings."""


class LimitSpent(ContestantError):
    """A contestant spent what one trial may cost: its own doing, so that its oracles are missed and not unknown."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status="limit")


class GatewayError(WorldError):
    """The gateway, a cassette or the budget let no model answer; this is not an error of the reviewer or agent."""


class Cancelled(CrabError):
    """The run was interrupted before this step could finish; what it had is thrown away."""


class StoreError(CrabError):
    """The store cannot be read or written: no space, no permission, or a folder that is not a store."""


def describe_os_error(error: OSError) -> str:
    """Return how this machine failed, as the end of a sentence: what the system says of it, where, and what to do."""
    what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
    return f"failed ({what}): fix it and run again"


@contextmanager
def model_errors_as(failure: type[ContestantError]) -> Iterator[None]:
    """Raise a ModelError of the block as the failure of the contestant that asked, and BudgetSpent as LimitSpent."""
    try:
        yield
    except BudgetSpent as error:
        raise LimitSpent(str(error)) from error
    except ModelError as error:
        mapped = failure(str(error), error.status)
        mapped.final = error.final
        raise mapped from error
