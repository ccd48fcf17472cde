import contextlib
import logging

import pytest

from router import App, Request, Response, Router


class ExporterDown(Exception):
    pass


@pytest.fixture
def app():
    routes = Router()
    routes.get("/", name="home")(lambda request: Response.text("home"))
    app = App(routes)

    @app.after
    def export(request, response):
        raise ExporterDown("no route to exporter")

    return app


def test_a_broken_hook_is_logged_with_its_traceback(app, caplog):
    with caplog.at_level(logging.DEBUG), contextlib.suppress(ExporterDown):
        app.handle(Request("GET", "/"))
    told = [logging.Formatter().format(record) for record in caplog.records if record.levelno >= logging.WARNING]
    assert [text for text in told if "Traceback" in text and "ExporterDown: no route to exporter" in text] != []


def test_response_and_later_hooks_survive(app):
    seen = []
    app.after(lambda request, response: seen.append(response.status))
    try:
        response = app.handle(Request("GET", "/"))
    except ExporterDown:
        pytest.fail("the hook cost us the response")
    assert (response.status, seen) == (200, [200])
