import pytest

from router import App, Request, Response, Router


def location(path, query, method="GET"):
    routes = Router(redirect_slashes=True)
    routes.get("/users", name="users")(lambda request: Response.text("users"))
    routes.get("/docs/<slug:page>/", name="docs")(lambda request, page: Response.text(page))
    response = App(routes).handle(Request(method, path, query))
    assert response.status == 308
    return response.headers["location"]


@pytest.mark.parametrize("query", ["page=2", "tag=a&tag=b", "q=a%26b", "empty=", "a=1&b=2&a=3", "q=a%20b+c", "flag", "a=1&&b=%c3%a9"])
def test_the_query_comes_along(query):
    assert location("/users/", query) == "/users?" + query
    assert location("/docs/intro", query) == "/docs/intro/?" + query


@pytest.mark.parametrize("method", ["HEAD", "POST", "DELETE"])
def test_for_every_method(method):
    assert location("/users/", "page=2", method) == "/users?page=2"


def test_no_query_no_question_mark():
    assert location("/users/", "") == "/users"
