import pytest

from router import App, PatternError, Request, Response, Router


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


class Handler:
    def __call__(self, request):
        return Response.text("called")


def test_nothing_of_it_was_changed(api):
    handler = Handler()
    api.add(["GET", "PUT"], "/files/<path:name>", handler, name="files")
    before = [(route, route.methods, route.pattern.source, route.handler, route.name) for route in (api.match("GET", "/files/x").route, api.match("GET", "/users/7").route)]
    routes = Router()
    routes.mount("/v1", api, name="v1")
    routes.mount("/v2", api, name="v2")
    after = [(route, route.methods, route.pattern.source, route.handler, route.name) for route in (api.match("GET", "/files/x").route, api.match("GET", "/users/7").route)]
    assert before == after
    for prefix in ("v1", "v2"):
        found = routes.match("PUT", f"/{prefix}/files/a/b")
        assert (found.route.handler, found.route.name, found.values) == (handler, f"{prefix}.files", {"name": "a/b"})
        assert found.route.pattern.source == f"/{prefix}/files/<path:name>"


def test_a_mount_that_fails_changes_nothing_either(api):
    taken = Router()
    taken.get("/x", name="api.users")(lambda request: Response())
    for prefix, name, kind in (("api", "other", PatternError), ("/api", "api", ValueError)):
        with pytest.raises(kind):
            taken.mount(prefix, api, name=name)
        assert answers(api, "/users/7", "/users") == [200, 405]
        assert api.url_for("user", id=7) == "/users/7"
        assert api.match("POST", "/users").route.name == "users"


def test_what_is_added_afterwards_is_its_own(api):
    routes = Router()
    routes.mount("/api", api, name="api")
    api.get("/late", name="late")(lambda request: Response.text("late"))
    routes.get("/early", name="early")(lambda request: Response.text("early"))
    assert answers(api, "/late", "/early", "/api/late") == [200, 404, 404]
    assert answers(routes, "/api/late", "/late", "/early") == [404, 404, 200]
