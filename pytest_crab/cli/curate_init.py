"""The command that asks what a curation needs to know, and writes it to crab.yaml."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pytest_crab.instances.files import replace_text
from pytest_crab.settings import FILE, load_settings


@click.command()
def init() -> None:
    """Ask two questions, and write the answers to crab.yaml under curate."""
    path = Path.cwd() / FILE
    settings = load_settings(Path.cwd())  # also says what is wrong with the file
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        if settings.curate or settings.private or "curate:" in text:
            raise click.ClickException(f"{path} has settings under curate already; change them there")
        passed_on = click.confirm(
            "Will the set be passed on to others than those who may read the code?", default=False
        )
        model = click.prompt("Model that writes oracles (empty: people write them)", default="", show_default=False)
        lines = ["curate:", f"  private: {json.dumps(not passed_on)}"]
        lines += [f"  oracles: {{model: {json.dumps(model)}}}"] if model else []
        joint = "" if not text or text.endswith("\n") else "\n"
        replace_text(path, f"{text}{joint}" + "".join(f"{line}\n" for line in lines))
        load_settings(Path.cwd())
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written ({error.strerror})") from error
    click.echo(f"written to {path}; now try: pytest-crab set curate SOURCE --out SET --what-if")
