"""The scales that a command line names for models: how the paper's tables group them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from pytest_crab.formats import format_names

F = TypeVar("F", bound=Callable[..., Any])

#: The scale of a model, for tables of several models.
scale_option: Callable[[F], F] = click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="NAME=SCALE",
    help="List this model under a scale such as <=16B; repeatable.",
)


def parse_scales(texts: Sequence[str], models: Sequence[str] | None = None) -> dict[str, str]:
    """Return the scales by model. Raises UsageError, also for a model that is none of ``models``."""
    named = [text.partition("=") for text in texts]
    wrong = [text for text, (name, _, scale) in zip(texts, named, strict=True) if not name or not scale]
    if wrong:
        raise click.UsageError(f"--scale {wrong[0]} should be NAME=SCALE")
    scales = {name: scale for name, _, scale in named}
    unknown = set(scales) - set(models) if models is not None else set()
    if unknown:
        raise click.UsageError(f"--scale names {min(unknown)}; the models are {format_names(models or (), 20)}")
    return scales
