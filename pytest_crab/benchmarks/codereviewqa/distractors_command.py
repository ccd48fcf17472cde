"""The distractors command: questions for one's own rows of reviewed code, in the form of CodeReviewQA's release."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from pytest_crab.atomic import SHARED, write_atomically
from pytest_crab.benchmarks.codereviewqa.choices.options import ChangeType
from pytest_crab.benchmarks.codereviewqa.distractors import WRONG, ReviewedCode, fault_of_comment, questions_on
from pytest_crab.benchmarks.codereviewqa.surrogates import TEMPERATURE, SolutionBench, Surrogates, SurrogateSettings
from pytest_crab.benchmarks.codereviewqa.text_models import AFTER, BEFORE, CHECK
from pytest_crab.benchmarks.codereviewqa.wrong_solutions import DRAWS
from pytest_crab.cli.asking import AskingOptions, asking_options, spent_line
from pytest_crab.cli.shared_options import load_embedding
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_names
from pytest_crab.instances.archives import json_records
from pytest_crab.scoring.similarity import Similarity
from pytest_crab.settings import Api, Settings, load_settings

_PROVIDED = "PROVIDER:MODEL"

#: The most rows that are named for one reason to leave them out.
_SHOWN = 20


@click.command()
@click.argument("rows", metavar="ROWS", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
@click.option("--all", "everything", is_flag=True, help="Keep comments that the filters would leave out.")
@click.option(
    "--surrogate", metavar=_PROVIDED,
    help="Make questions on the solution too; this model chooses the element of the code to replace.",
)  # fmt: skip
@click.option("--infill", metavar=_PROVIDED, help="The model that writes replacements; the surrogate if not given.")
@click.option(
    "--embedding", metavar="MODEL",
    help="The model that compares solutions, PROVIDER:MODEL or of sentence-transformers; the surrogate if not given.",
)  # fmt: skip
@click.option(
    "--temperature", type=click.FloatRange(min=0), default=TEMPERATURE, show_default=True,
    help="The temperature at which replacements are written.",
)  # fmt: skip
@click.option(
    "--template", metavar="TEXT",
    help=f"The prompt for a replacement, with {BEFORE} and {AFTER}; the provider's own suffix if not given.",
)  # fmt: skip
@click.option(
    "--draws", type=click.IntRange(min=2 * WRONG), default=DRAWS, show_default=True,
    help="The most elements that are asked for on a row.",
)  # fmt: skip
@asking_options(AskingOptions, whom="models", what="rows", kept="answers of models")
def distractors(rows: Path, *, out: Path, everything: bool, asking: AskingOptions, **named: Any) -> None:
    """Make questions on the type, the lines and the solution of a change for each of ROWS, which are JSON lines.

    A row has old and new code with marked lines, its review comment and its language. Other keys are kept.
    """
    if out.exists():
        raise click.ClickException(f"{out} is there already; name a new file")
    try:
        found = _read_rows(rows, everything=everything)
        lines = _add_solutions(found, asking, **named)
        if asking.plan:
            click.echo("\n".join(lines or ["no model is needed: --surrogate names none"]))
            return
        write_atomically(out, [f"{json.dumps(row)}\n".encode() for row in found.made.values()], SHARED)
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written ({error.strerror}): name another file") from error
    total = sum(map(len, found.left_out.values()))
    click.echo(f"{out}: {format_count(len(found.made), 'row')} with questions, {total} left out")
    for why, names in sorted(found.left_out.items()):
        click.echo(f"  {len(names)}: {why} ({format_names(names, _SHOWN)})")
    for line in lines:
        click.echo(line)


@dataclass
class _Rows:
    """The rows of a file, with and without questions."""

    #: The rows with questions, by their names.
    made: dict[str, dict[str, object]] = field(default_factory=dict)
    #: Their code.
    code: dict[str, ReviewedCode] = field(default_factory=dict)
    #: The names of the rows without questions, by the reason.
    left_out: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def _read_rows(file: Path, *, everything: bool) -> _Rows:
    """Return the rows with their questions on type and lines. Raises BadInput."""
    rows = _Rows()
    problems: list[str] = []
    for number, line, row in json_records(file, ReviewedCode, problems):
        fault = None if everything else fault_of_comment(row.review)
        found = fault or questions_on(row)
        if isinstance(found, str):
            rows.left_out[found].append(f"line {number}")
        else:
            rows.made[f"line-{number}"] = {**json.loads(line), **found}
            rows.code[f"line-{number}"] = row
    if problems:
        raise BadInput(str(file), problems)
    return rows


def _add_solutions(rows: _Rows, asking: AskingOptions, **named: Any) -> list[str]:
    """Add the questions on solutions, and return what to say of their models. Raises CrabError.

    A row that brings such a question keeps it; a row without enough wrong solutions is left out.
    """
    if not _names_models(**named):
        return []
    settings = load_settings(Path.cwd())
    models = _models(settings, **named)
    code = {
        name: row
        for name, row in rows.code.items()
        if row.change is not ChangeType.DELETE and not rows.made[name].get("solution_correct")
    }
    with _open_bench(models, settings, asking) as bench:
        if asking.plan:
            stored = bench.count_stored(code)
            left = len(code) - stored
            return [f"{format_count(len(code), 'row')}, {stored} stored, {left} to ask{f', {CHECK}' if left else ''}"]
        for name, found in bench.make(code).items():
            if isinstance(found, str):
                rows.left_out[found].append(name.replace("-", " "))
                del rows.made[name]
            else:
                rows.made[name] |= found
    spent = spent_line(models.surprised.model, "answer", asked=len(bench.asked), failed=0, usage=bench.usage)
    return [spent, "A model wrote the wrong solutions: read them, and remove a row in which one is right too."]


@contextmanager
def _open_bench(models: Surrogates, settings: Settings, asking: AskingOptions) -> Iterator[SolutionBench]:
    with asking.open_session(settings, "solutions") as session:
        yield SolutionBench(
            models=models,
            cache=session.cache,
            services=session.services_of("distractors"),
            stop=session.stop,
            jobs=asking.jobs,
        )


def _names_models(
    *, surrogate: str | None, infill: str | None, embedding: str | None, template: str | None, **_: Any
) -> bool:
    """Return whether the options name models. Raises UsageError."""
    if surrogate is None and (infill or embedding or template):
        raise click.UsageError(
            "--infill, --embedding and --template are for questions on the solution: name --surrogate"
        )
    if template is not None and not (template.count(BEFORE) == template.count(AFTER) == 1):
        raise click.UsageError(f"--template should have {BEFORE} and {AFTER}, each once")
    return surrogate is not None


def _models(
    settings: Settings, *, surrogate: str, infill: str | None, embedding: str | None, **others: Any
) -> Surrogates:
    """Return the models that the options name. Raises BadInput, UsageError."""
    surprised = _model(surrogate, "--surrogate", settings)
    filling = surprised if infill is None else _model(infill, "--infill", settings)
    comparing: SurrogateSettings | Similarity = surprised
    if embedding is not None:
        local = ":" not in embedding
        comparing = load_embedding(embedding) if local else _model(embedding, "--embedding", settings)
    return Surrogates(surprised=surprised, filling=filling, comparing=comparing, **others)


def _model(text: str, option: str, settings: Settings) -> SurrogateSettings:
    """Return the model that an option names. Raises BadInput."""
    provider, _, model = text.partition(":")
    known = [name for name, each in settings.models.providers.items() if each.api is Api.OPENAI]
    if provider not in known or not model:
        wrong = f"{text!r} should be {_PROVIDED}, with a provider of crab.yaml whose api is openai: {', '.join(known)}"
        raise BadInput(option, [wrong])
    return SurrogateSettings(model=model, provider=provider, folder=str(settings.folder))
