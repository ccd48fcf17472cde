"""One run of a client: its settings, its place in a sandbox, its way to the models, and what is kept of it."""

from __future__ import annotations

import dataclasses
import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pytest_crab import serialization
from pytest_crab.clients.chat import endpoint_of, require_readable
from pytest_crab.clients.installed import ClientMissing, Installed, find
from pytest_crab.clients.prompting import asks_question, digest_of, instructions, prompt, revising
from pytest_crab.clients.status_table import Status, StatusRow, read_status
from pytest_crab.commands import CommandPlace
from pytest_crab.diffs import touched_paths
from pytest_crab.ecosystems.messages import telling_line
from pytest_crab.errors import AgentError, EngineError, ReviewerError
from pytest_crab.model_access import ModelAccess, Services
from pytest_crab.parsing.finding_lists import find_list
from pytest_crab.parsing.findings import review_of
from pytest_crab.protocols import Checkout, Completed, Workspace
from pytest_crab.redaction import Redactor
from pytest_crab.text import cut_middle
from pytest_crab.types import Finding, PullRequest, Review, Revision, RevisionCommit, Usage

#: The most of an error's words that a sentence repeats.
_LONGEST_QUOTE = 200
LONGEST_NOTES = 16_000
#: In seconds, for reading what a client left, and for what is put there before.
_READING = 120
#: The most characters of a stream that are kept.
_LONGEST_STREAM = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings of the adapters of all clients."""

    client: ClassVar[str]
    #: Reviewer or agent.
    role: ClassVar[str]

    #: None is the client's own choice.
    model: str | None = None
    #: The gateway's name of the provider.
    provider: str = ""
    #: A file of instructions in place of ours, relative to ``folder``.
    prompt: str | None = None
    #: The seconds for one pull request.
    timeout: float = 1800.0
    #: More arguments of the client's own.
    args: tuple[str, ...] = ()
    #: The providers that the sandbox can ask beside ``provider``.
    more_providers: tuple[str, ...] = ()
    place: CommandPlace = field(default=CommandPlace.WORKSPACE, metadata={"key": "in"})
    #: The folder of crab.yaml.
    folder: str = "."

    def __post_init__(self) -> None:
        if self.timeout <= 0:
            raise ValueError("timeout should be a number of seconds above 0")
        require_readable("prompt", self.prompt, self.instructions)
        try:
            find(self.client)
        except ClientMissing as error:
            raise ValueError(str(error)) from error

    def instructions(self) -> str:
        """Return the text that goes before the data."""
        task = "review" if self.role == "reviewer" else revising(series=self.asks_for_series)
        return instructions(task, self.prompt, self.folder)

    @property
    def asks_for_series(self) -> bool:
        """True if the client is an agent that is asked for one commit for each finding."""
        return bool(getattr(self, "series", False))

    def expects_work(self) -> bool:
        """Return whether an answer without a tool is none, unless it says that it leaves the findings."""
        return self.role == "agent" and not asks_question(self.instructions())

    @property
    def failure(self) -> type[ReviewerError | AgentError]:
        """The error of this role."""
        return ReviewerError if self.role == "reviewer" else AgentError

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers that may be asked, which should be known before a run begins; first the one that is."""
        return (*([self.provider] if self.provider else []), *self.more_providers)

    @contextmanager
    def _find_client(self) -> Iterator[Installed]:
        try:
            yield find(self.client)
        except ClientMissing as error:
            raise self.failure(str(error)) from error

    def identity(self) -> Mapping[str, Any] | None:
        """Client, version, model, endpoint, the prompt's digest, and every other setting.

        Raises the role's error, BadInput for a crab.yaml that is something else by now.
        """
        settings = serialization.dump(self)
        settings.pop("prompt", None)
        settings.pop("folder", None)
        if not self.more_providers:
            settings.pop("more_providers")  # so that what was stored before there was such a setting is still found
        with self._find_client() as installed:
            version = installed.version
        return {
            "adapter": f"{self.client} {self.role}",
            "client": self.client,
            "version": version,
            "model": self.model,
            "endpoint": endpoint_of(self.provider, Path(self.folder)),
            "prompt": digest_of(self.instructions()),
            "settings": settings,
        }

    @contextmanager
    def session(self, checkout: Checkout) -> Iterator[Session]:
        """Open a sandbox with the client and a way to the models in it. Raises the role's error, GatewayError."""
        services = checkout.services
        with self._find_client() as installed, services.models(self.provider, *self.more_providers) as access:
            if self.place is CommandPlace.WORKSPACE:
                opened = checkout.workspace(readable=installed.trees, models=access)
            else:
                opened = checkout.clone(libraries=installed.trees, models=access)
            with opened as workspace:
                yield Session(self, installed, services, access, workspace)


class Session:
    """A client at work on one pull request; ``base`` is the address of its provider as it sees it."""

    def __init__(
        self,
        settings: ClientSettings,
        installed: Installed,
        services: Services,
        access: ModelAccess,
        workspace: Workspace,
    ) -> None:
        assert workspace.models_url is not None
        assert workspace.home is not None
        self.settings = settings
        self.program = str(installed.program)
        self.installed = installed
        self.token = access.token
        self.workspace = workspace
        self.home = workspace.home
        self.base = f"{workspace.models_url}/{settings.provider}"
        self.transcript: str | None = None
        self._cut: tuple[str, ...] = ()
        self._redactor = Redactor({access.token: "[token]"})
        self._services = services
        self._access = access

    def prompt(self, pull_request: PullRequest, findings: Sequence[Finding] | None = None) -> str:
        """Return the prompt of the settings' instructions; how it was cut goes on the record."""
        text, self._cut = prompt(self.settings.instructions(), pull_request, findings)
        return text

    def run(self, argv: Sequence[str], *, env: Mapping[str, str], stdin: str = "") -> Completed:
        """Run the client to its end or the deadline, in a home of its own and with these variables alone."""
        variables = {"HOME": self.home, **env}
        data = stdin.encode(errors="surrogateescape")
        return self.workspace.run(argv, stdin=data, env=variables, seconds=self.settings.timeout)

    def read(self, script: str, *arguments: str) -> bytes | None:
        """Return what a line of shell prints, which reads what the client left; None if it cannot be read."""
        done = self.workspace.run(("sh", "-c", script, "sh", *arguments), seconds=_READING)
        return done.stdout if done.exit_code == 0 and not done.too_much_output else None

    def put(self, files: Mapping[str, bytes], folder: str) -> None:
        """Write files into a folder of the sandbox, which need not be there. Raises EngineError."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o755
                archive.addfile(entry, io.BytesIO(content))
        unpack = ("sh", "-c", 'mkdir -p "$1" && tar -xf - -C "$1"', "sh", folder)
        done = self.workspace.run(unpack, stdin=packed.getvalue(), seconds=_READING)
        if done.exit_code != 0:
            raise EngineError(f"files could not be put into {folder} of the sandbox: {last_words(done)}; is tar there?")

    def keep(self, parts: Mapping[str, bytes]) -> None:
        """Keep raw output; its key is then ``transcript``."""
        texts = {name: cut_middle(part.decode(errors="replace"), _LONGEST_STREAM) for name, part in parts.items()}
        self.transcript = self._services.keep(self.settings.client, json.dumps(texts, indent=1))

    def judge(self, facts: Mapping[str, Any]) -> StatusRow:
        """Return the row of the status table for these facts. Raises the role's error unless all is well."""
        row = read_status(self.installed.kind.rows, self.settings.client, self.settings.role, facts)
        if row.status is Status.OK:
            return row
        words = self._redactor.text(" ".join(str(facts.get("words") or "").split()))[:_LONGEST_QUOTE]
        quote = f"; it said {words!r}" if words else ""
        kept = f"; its raw output is transcript {self.transcript[:12]} in the store" if self.transcript else ""
        raise self._error(row.status, f"{row.what}{quote}{kept}")

    def _error(self, status: Status, sentence: str) -> Exception:
        failure = self.settings.failure
        return failure(f"{self.settings.client} ended as {status}: {sentence}", status=str(status))

    def _usage(self) -> Usage:
        return self._services.usage(self._access)

    def review(self, findings: Any, pull_request: PullRequest) -> Review:
        """Return the findings as the review that goes on the record. Raises the role's error."""
        problems: list[str] = []
        items = self._redactor.data(findings)
        files = touched_paths(pull_request.diff)
        found = find_list(items, files)
        if found is None:
            problems.append("it holds no list of findings")
        review = None if found is None else review_of(found.items, problems, root=self.workspace.root, files=files)
        if review is None:
            raise self._error(Status.BAD_OUTPUT, f"its findings cannot be read: {problems[0]}")
        return dataclasses.replace(
            review,
            usage=self._usage(),
            version=self.installed.version,
            transcript=self.transcript,
            cut=self._cut,
        )

    def revision(self, notes: str) -> Revision:
        """Return the revision that goes on the record: the tree's diff, and of a token in it only the place."""
        diff = self.workspace.diff()
        commits = self.workspace.series(diff) if self.settings.asks_for_series else ()
        return Revision(
            diff=self._redactor.text(diff),
            commits=redacted(commits, self._redactor),
            usage=self._usage(),
            version=self.installed.version,
            notes=self._redactor.text(notes)[:LONGEST_NOTES] or None,
            transcript=self.transcript,
            cut=self._cut,
        )


def redacted(commits: Sequence[RevisionCommit], redactor: Redactor) -> tuple[RevisionCommit, ...]:
    """Return a series of commits without what the redactor knows."""
    return tuple(
        dataclasses.replace(one, diff=redactor.text(one.diff), message=redactor.text(one.message)) for one in commits
    )


def require_above_zero(**limits: float | None) -> None:
    """Raise ValueError unless each of these limits is above 0 or not set: to a client 0 may be no limit at all."""
    for name, limit in limits.items():
        if limit is not None and limit <= 0:
            raise ValueError(f"{name} should be above 0; leave it out for no limit")


def ending(completed: Completed) -> str:
    """Return how a run ended, as the table's fact of that name."""
    if completed.timed_out:
        return "timeout"
    if completed.out_of_memory:
        return "memory"
    if completed.too_much_output:
        return "output"
    if completed.too_much_disk:
        return "disk"
    return "killed" if completed.exit_code is None else f"exit {completed.exit_code}"


def last_words(completed: Completed) -> str:
    """Return what a client last printed to standard error that is no banner, or else to standard output."""
    return telling_line(completed.stderr, completed.stdout, limit=1 << 20)  # cut later, when secrets are out of it
