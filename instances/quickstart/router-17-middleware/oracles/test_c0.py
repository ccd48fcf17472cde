import contextlib
import logging

import pytest

from router import App, NotFound, Request, Response, Router


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


def down(kind):
    def hook(request, response):
        raise kind("no route to exporter")

    return hook


@pytest.mark.parametrize("kind", [ValueError, KeyError, TypeError, AttributeError, OSError, RuntimeError, AssertionError, StopIteration, ZeroDivisionError, NotFound, ConnectionError])
def test_whatever_it_raises(app, caplog, kind):
    seen = []
    app.after(down(kind))
    app.after(lambda request, response: seen.append(response.status))
    with caplog.at_level(logging.DEBUG):
        try:
            response = app.handle(Request("GET", "/"))
        except Exception as error:
            pytest.fail(f"the hook cost us the response: {error!r}")
    told = [logging.Formatter().format(record) for record in caplog.records if record.levelno >= logging.WARNING]
    for name in ("ExporterDown", kind.__name__):
        assert [text for text in told if "Traceback" in text and f"{name}: " in text] != []
    assert (response.status, response.body, seen) == (200, b"home", [200])


def test_each_time_and_for_error_responses_too(app, caplog):
    with caplog.at_level(logging.DEBUG), contextlib.suppress(ExporterDown):
        for path in ("/", "/nobody", "/"):
            caplog.clear()
            app.handle(Request("GET", path))
            told = [logging.Formatter().format(record) for record in caplog.records if record.levelno >= logging.WARNING]
            assert [text for text in told if "Traceback" in text and "ExporterDown: no route to exporter" in text] != []


def test_hooks_that_work_are_not_logged(caplog):
    app = App(Router())
    app.after(lambda request, response: None)
    with caplog.at_level(logging.WARNING):
        assert app.handle(Request("GET", "/")).status == 404
    assert [record for record in caplog.records if record.exc_info] == []
