"""The view command: reports in a browser, also while their run goes on."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from pytest_crab.cli.serving import serve
from pytest_crab.cli.shared_options import STORE
from pytest_crab.show.view_server import ViewServer


@click.command()
@click.argument("place", type=click.Path(path_type=Path), default=STORE)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on.  [default: a free one]")
@click.option("--open", "opens", is_flag=True, help="Also open the page in a browser.")
def view(place: Path, port: int, *, opens: bool) -> None:
    """Show runs in a browser: their rates over time and the report of each, from the start of the run.

    PLACE is a store, a report's folder, or a folder of such, which may be made later; .crab if not given. The server
    listens on the loopback address only, and its address has a token. It runs until Ctrl-C and writes nothing.
    """
    try:
        server = ViewServer(place, port)
    except OSError as error:
        raise click.ClickException(f"port {port} cannot be listened on: {error.strerror}") from error
    notes = [] if server.reports() else [f"No run has begun in {place} yet; the page waits for it."]
    threading.Thread(target=server.prepare, daemon=True).start()
    serve(server, *notes, opens=opens)
