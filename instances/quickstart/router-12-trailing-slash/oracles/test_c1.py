from urllib.parse import urlsplit

import pytest

from router import App, Request, Response, Router


@pytest.fixture
def app(request):
    routes = Router(redirect_slashes=True)
    routes.get(getattr(request, "param", "/<path:page>/"), name="page")(lambda request, page: Response.text(page))
    return App(routes)


HOSTS = ["evil.example", "evil", "localhost", "ada@evil.example", "evil.example:8080", "evil.example/a/b.c", "[::1]", "%2F%2Fevil.example", "\\evil.example"]


def stays_here(response):
    place = response.headers.get("location", "/")
    return place[:1] == "/" and place[1:2] not in {"/", "\\"} and urlsplit(place)[:2] == ("", "")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("slashes", [2, 3, 4, 5, 20])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_never_to_another_host(app, host, slashes, method):
    assert stays_here(app.handle(Request(method, "/" * slashes + host)))


@pytest.mark.parametrize("app", ["/<path:page>x"], indirect=True)
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("slashes", [2, 3, 4, 5, 20])
@pytest.mark.parametrize("end", [1, 2, 3])
def test_nor_when_a_slash_is_taken_away(app, host, slashes, end):
    assert stays_here(app.handle(Request("GET", "/" * slashes + host + "x" + "/" * end)))


@pytest.mark.parametrize("app", ["/<slug:page>"], indirect=True)
def test_ordinary_slashes_are_still_taken_away(app):
    response = app.handle(Request("GET", "/intro/"))
    assert (response.status, response.headers.get("location")) == (308, "/intro")


def test_ordinary_paths_are_still_redirected(app):
    for path in ("/intro", "/docs/intro", "/docs/evil.example", "/a/b/c"):
        response = app.handle(Request("GET", path))
        assert (response.status, response.headers.get("location")) == (308, path + "/")
