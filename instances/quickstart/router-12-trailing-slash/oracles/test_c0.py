import pytest

from router import App, Request, Response, Router


def location(path, query):
    routes = Router(redirect_slashes=True)
    routes.get("/users", name="users")(lambda request: Response.text("users"))
    routes.get("/docs/<slug:page>/", name="docs")(lambda request, page: Response.text(page))
    return App(routes).handle(Request("GET", path, query)).headers["location"]


@pytest.mark.parametrize("query", ["page=2", "tag=a&tag=b", "q=a%26b", "empty="])
def test_the_query_comes_along(query):
    assert location("/users/", query) == "/users?" + query
    assert location("/docs/intro", query) == "/docs/intro/?" + query


def test_no_query_no_question_mark():
    assert location("/users/", "") == "/users"
