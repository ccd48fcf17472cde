import pytest

from router import App, Request, Response, Router


def location(path, query, method="GET"):
    routes = Router(redirect_slashes=True)
    routes.route(["GET", "HEAD", method], "/users", name="users")(lambda request: Response.text("users"))
    routes.get("/docs/<slug:page>/", name="docs")(lambda request, page: Response.text(page))
    routes.get("/files/<str:file>/", name="file")(lambda request, file: Response.text(file))
    response = App(routes).handle(Request(method, path, query))
    assert response.status == 308
    return response.headers["location"]


@pytest.mark.parametrize("query", ["page=2", "tag=a&tag=b", "q=a%26b", "empty=", "a=1&b=2&a=3", "q=a%20b+c", "flag", "a=1&&b=%c3%a9", "q=a?b", "a=/b/&c=//d", "a=;b", "=", "a=1&", "%zz", "page=2/"])
def test_the_query_comes_along(query):
    assert location("/users/", query) == "/users?" + query
    assert location("/docs/intro", query) == "/docs/intro/?" + query


@pytest.mark.parametrize("method", ["HEAD", "POST", "DELETE"])
def test_for_every_method(method):
    assert location("/users/", "page=2", method) == "/users?page=2"


def test_no_query_no_question_mark():
    assert location("/users/", "") == "/users"


def test_the_path_is_quoted_as_it_was():
    assert location("/files/a b", "") == "/files/a%20b/"
    assert location("/files/a?b#c%", "page=2") == "/files/a%3Fb%23c%25/?page=2"
    assert location("/files/caf\u00e9", "page=2") == "/files/caf%C3%A9/?page=2"


def test_what_needs_no_redirect_gets_none():
    routes = Router(redirect_slashes=True)
    routes.get("/users", name="users")(lambda request: Response.text(request.query))
    response = App(routes).handle(Request("GET", "/users", "page=2"))
    assert (response.status, response.body, "location" in response.headers) == (200, b"page=2", False)
    assert App(routes).handle(Request("GET", "/nobody/", "page=2")).status == 404
