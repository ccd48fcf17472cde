import pytest

from router import App, BuildError, NotFound, Request, Response, Router


@pytest.fixture
def routes():
    routes = Router()

    @routes.get("/users/<int:id>", name="user")
    def show(request, id):
        return Response.json({"id": id})

    @routes.post("/users", name="users")
    def create(request):
        return Response.text("created", 201)

    @routes.get("/broken")
    def broken(request):
        raise NotFound("gone")

    return routes


def test_a_handler_gets_converted_values(routes):
    response = App(routes).handle(Request("GET", "/users/7"))
    assert (response.status, response.body) == (200, b'{"id": 7}')


def test_head_has_no_body(routes):
    response = App(routes).handle(Request("HEAD", "/users/7"))
    assert (response.status, response.body) == (200, b"")


def test_unknown_path(routes):
    assert App(routes).handle(Request("GET", "/nobody")).status == 404


def test_other_method(routes):
    response = App(routes).handle(Request("DELETE", "/users"))
    assert response.status == 405
    assert response.headers["allow"] == "POST"


def test_a_handler_may_raise(routes):
    response = App(routes).handle(Request("GET", "/broken"))
    assert (response.status, response.body) == (404, b"gone")


def test_names_are_unique(routes):
    with pytest.raises(ValueError, match="exists"):
        routes.add(["GET"], "/other", lambda request: Response(), name="user")


def test_url_for(routes):
    assert routes.url_for("user", id=7) == "/users/7"
    with pytest.raises(BuildError):
        routes.url_for("nobody")


def test_params():
    assert Request("GET", "/", "tag=a&tag=b&q=").params == {"tag": ["a", "b"], "q": [""]}
