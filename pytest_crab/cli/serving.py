"""Serving pages to the person who called a command, until Ctrl-C."""

from __future__ import annotations

import webbrowser

import click

from pytest_crab.show.view_server import LocalServer


def serve(server: LocalServer, *notes: str, opens: bool) -> None:
    """Print the server's address and some sentences, open it in a browser if asked for, and serve until Ctrl-C."""
    with server:
        click.echo(f"{server.url}\nCtrl-C ends it.")
        for note in notes:
            click.echo(note)
        if opens:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("")
