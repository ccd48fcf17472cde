import pytest

from router import App, Request, Response, Router


@pytest.fixture
def api():
    api = Router()
    api.get("/users/<int:id>", name="user")(lambda request, id: Response.json({"id": id}))
    api.post("/users", name="users")(lambda request: Response.text("created", 201))
    return api


def answers(routes, *paths):
    return [App(routes).handle(Request("GET", path)).status for path in paths]


def test_mounted_twice(api):
    routes = Router()
    routes.mount("/v1", api, name="v1")
    routes.mount("/v2", api, name="v2")
    assert answers(routes, "/v1/users/7", "/v2/users/7", "/v1/users", "/users/7", "/v2/v1/users/7") == [200, 200, 405, 404, 404]
    assert [routes.url_for(name, id=7) for name in ("v1.user", "v2.user")] == ["/v1/users/7", "/v2/users/7"]


def test_mounted_in_two_routers(api):
    first, second = Router(), Router()
    first.mount("/a", api, name="a")
    second.mount("/b", api, name="b")
    assert answers(first, "/a/users/7", "/b/users/7") == [200, 404]
    assert answers(second, "/a/users/7", "/b/users/7") == [404, 200]


def test_still_of_use_on_its_own(api):
    Router().mount("/api", api, name="api")
    assert answers(api, "/users/7", "/api/users/7", "/users") == [200, 404, 405]
    assert api.url_for("user", id=7) == "/users/7"
    assert api.match("GET", "/users/7").route.name == "user"


def test_a_router_below_a_router_below_a_router(api):
    middle, outer = Router(), Router()
    middle.mount("/api", api, name="api")
    outer.mount("/shop", middle, name="shop")
    assert answers(outer, "/shop/api/users/7", "/api/users/7") == [200, 404]
    assert outer.url_for("shop.api.user", id=7) == "/shop/api/users/7"
