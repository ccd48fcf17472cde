import pytest

from router import App, Request, Response, Router


@pytest.fixture
def app(request):
    routes = Router(redirect_slashes=True)
    routes.get(getattr(request, "param", "/<path:page>/"), name="page")(lambda request, page: Response.text(page))
    return App(routes)


@pytest.mark.parametrize("slashes", [2, 3, 4, 5])
def test_never_to_another_host(app, slashes):
    response = app.handle(Request("GET", "/" * slashes + "evil.example"))
    assert not response.headers.get("location", "").startswith("//")


@pytest.mark.parametrize("app", ["/<path:page>.example"], indirect=True)
@pytest.mark.parametrize("slashes", [2, 3, 4, 5])
def test_nor_when_a_slash_is_taken_away(app, slashes):
    response = app.handle(Request("GET", "/" * slashes + "evil.example/"))
    assert not response.headers.get("location", "").startswith("//")


def test_ordinary_paths_are_still_redirected(app):
    response = app.handle(Request("GET", "/docs/intro"))
    assert (response.status, response.headers.get("location")) == (308, "/docs/intro/")
