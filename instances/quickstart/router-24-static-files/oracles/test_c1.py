import gc
import os
import warnings

import pytest

from router import App, Request, Router, StaticFiles


@pytest.fixture
def app(tmp_path):
    (tmp_path / "index.html").write_bytes(b"index")
    routes = Router()
    routes.add(["GET", "HEAD"], "/<path:filename>", StaticFiles(tmp_path), name="static")
    return App(routes)


def left_open(app, request):
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        response = app.handle(request)
        gc.collect()
    if response.status == 200:
        assert response.body == (b"index" if request.method == "GET" else b"")
    return response.status, [str(warning.message) for warning in caught if warning.category is ResourceWarning]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_nothing_stays_open_when_the_file_is_sent(app, method):
    assert left_open(app, Request(method, "/index.html")) == (200, [])
    assert left_open(app, Request(method, "/index.html", headers={"if-none-match": '"older"'})) == (200, [])


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_nothing_stays_open_when_the_client_has_it(app, method):
    etag = app.handle(Request("GET", "/index.html")).headers["etag"]
    assert left_open(app, Request(method, "/index.html", headers={"if-none-match": etag})) == (304, [])


def test_nor_the_files_of_many_requests(app):
    etag = app.handle(Request("GET", "/index.html")).headers["etag"]
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    kept = [app.handle(Request("GET", "/index.html", headers={"if-none-match": etag})) for _ in range(20)]
    assert len(os.listdir("/proc/self/fd")) <= before
    assert {response.status for response in kept} == {304}
