"""The contamination command: whether models may have seen a set of CodeReviewQA before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from pytest_crab.benchmarks.codereviewqa.choices import ANSWERERS, SECTION
from pytest_crab.benchmarks.codereviewqa.comprehension import sort_by_scale
from pytest_crab.benchmarks.codereviewqa.contamination import SolvedText, TextBench, TextScore, solved_texts
from pytest_crab.benchmarks.codereviewqa.contamination_tables import STARTS, contamination_lines, measure_model
from pytest_crab.benchmarks.codereviewqa.scales import parse_scales, scale_option
from pytest_crab.benchmarks.codereviewqa.text_models import CHECK
from pytest_crab.cli.asking import AskingOptions, asking_options, plan_line, spent_line
from pytest_crab.cli.shared_options import json_option
from pytest_crab.clients.chat import ChatSettings
from pytest_crab.errors import BadInput, Cancelled, CrabError, StoreError
from pytest_crab.formats import format_first
from pytest_crab.instances import load_instances
from pytest_crab.results.recorded_results import Told
from pytest_crab.settings import Api, Settings, load_settings

#: What one step gets from a model, for sentences.
_NOUN = "text score"


@click.command()
@click.argument("sets", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--answerer", "names", multiple=True, required=True, metavar="NAME",
    help="Measure the model of this answerer of crab.yaml; repeatable.",
)  # fmt: skip
@click.option(
    "--starts", type=click.IntRange(min=1), default=STARTS, show_default=True,
    help="Places of each text at which 5-gram accuracy is measured.",
)  # fmt: skip
@scale_option
@asking_options(AskingOptions, whom="models", what="texts", kept="scores of texts")
@json_option
def contamination(
    sets: tuple[Path, ...],
    *,
    names: tuple[str, ...],
    starts: int,
    scales: tuple[str, ...],
    asking: AskingOptions,
) -> Told | None:
    """Measure perplexity and 5-gram accuracy of models on SETS, folders of CodeReviewQA's rows.

    A low perplexity and a high accuracy mean that a model may have seen the rows before. The provider must give the
    log-probabilities of a text that it is sent: its completions endpoint must accept echo and logprobs.
    """
    by_name = parse_scales(scales, names)
    texts = [text for folder in sets for instance in load_instances(folder) for text in solved_texts(instance)]
    if not texts:
        raise BadInput(str(sets[0]), ["it holds no row of CodeReviewQA, so there is no text to measure"])
    with _benches(asking, names) as benches:
        if asking.plan:
            click.echo("\n".join(_plan_line(bench, texts) for bench in benches))
            return None
        scores = {bench.name: _score(bench, texts) for bench in benches}
    models = [
        measure_model(name, texts, own, starts=starts, scale=by_name.get(name, "")) for name, own in scores.items()
    ]
    models = sort_by_scale(models, by_name)
    return models, [*contamination_lines(models, starts), *map(_cost_line, benches)]


@contextmanager
def _benches(asking: AskingOptions, names: Sequence[str]) -> Iterator[list[TextBench]]:
    """Yield what scores texts for each answerer. Raises BadInput."""
    settings = load_settings(Path.cwd())
    models = {name: _model(name, settings) for name in names}
    with asking.open_session(settings, "texts") as session:
        yield [
            TextBench(
                name=name,
                settings=model,
                cache=session.cache,
                services=session.services_of(name),
                stop=session.stop,
                jobs=asking.jobs,
            )
            for name, model in models.items()
        ]


def _model(name: str, settings: Settings) -> ChatSettings:
    """Return the settings of an answerer's model. Raises BadInput unless its provider may give log-probabilities."""
    where = ANSWERERS.where(name)
    answerers = settings.more.get(SECTION, {})
    variant = answerers.get(name)
    if variant is None:
        known = ", ".join(answerers) or "none"
        raise BadInput("crab.yaml", [f"it names no answerer {name!r}; its answerers are {known}"])
    built = ANSWERERS.make(variant.use, variant.settings, settings.folder, where, answerers)
    if not isinstance(built, ChatSettings):
        raise BadInput(where, [f"{variant.use} asks no model directly; use letters or log-probabilities"])
    if built.provider not in settings.models.providers:
        known = ", ".join(settings.models.providers)
        raise BadInput(where, [f"provider is {built.provider!r}; it should be one of {known}"])
    if built.protocol() is not Api.OPENAI:
        raise BadInput(where, [f"the provider {built.provider} gives no log-probabilities; its api should be openai"])
    return built


def _score(bench: TextBench, texts: Sequence[SolvedText]) -> Mapping[str, TextScore | None]:
    """Return a model's scores. Raises BadInput where it cannot score even the shortest text, StoreError, Cancelled."""
    try:
        return bench.score(texts)
    except (Cancelled, StoreError):
        raise
    except CrabError as error:
        raise BadInput(bench.name, [f"the first text was not scored: {error}"]) from error


def _plan_line(bench: TextBench, texts: Sequence[SolvedText]) -> str:
    plan = bench.plan(texts)
    return plan_line(bench.name, plan, _NOUN) + (f", {CHECK}" if plan.stored < plan.steps else "")


def _cost_line(bench: TextBench) -> str:
    asked, failed = len(bench.asked), len(bench.failed)
    why = f": {format_first(bench.failed)}" if failed else ""
    return spent_line(bench.name, _NOUN, asked=asked, failed=failed, usage=bench.usage) + why
