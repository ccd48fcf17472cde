import pytest

from router import App, Request, Response, Router

REQUESTS = [Request("GET", "/"), Request("GET", "/users/1"), Request("HEAD", "/"), Request("GET", "/users/2"), Request("POST", "/x")]


@pytest.fixture
def app():
    routes = Router()
    routes.get("/", name="home")(lambda request: Response.text("home"))
    routes.get("/users/<int:id>", name="user")(lambda request, id: Response.text(str(id)))
    return App(routes)


def counting(built, called, name):
    def middleware(call):
        built.append(name)

        def counted(request):
            called.append(name)
            return call(request)

        return counted

    return middleware


def test_factories_do_not_run_for_every_request(app):
    built, called = [], []
    app.use(counting(built, called, "outer"))
    app.use(counting(built, called, "inner"))
    app.handle(Request("GET", "/"))
    before = len(built)
    for request in REQUESTS:
        app.handle(request)
    assert len(built) == before
    assert called == ["outer", "inner"] * (1 + len(REQUESTS))


def test_none_is_needed(app):
    assert [app.handle(Request("GET", path)).body for path in ("/", "/users/7")] == [b"home", b"7"]


def test_a_late_middleware_counts(app):
    built, called = [], []
    app.use(counting(built, called, "early"))
    app.handle(Request("GET", "/"))
    app.use(counting(built, called, "late"))
    app.handle(Request("GET", "/"))
    assert called == ["early", "early", "late"]


def test_nor_after_a_late_one_or_several(app):
    built, called = [], []
    app.use(counting(built, called, "first"))
    app.handle(Request("GET", "/"))
    for name in ("second", "third"):
        app.use(counting(built, called, name))
        app.handle(Request("GET", "/"))
        before = len(built)
        del called[:]
        for request in REQUESTS:
            app.handle(request)
        assert len(built) == before
        assert called == ["first", "second", "third"][: len(called) // len(REQUESTS)] * len(REQUESTS)
    assert len(called) == 3 * len(REQUESTS)


def test_apps_have_chains_of_their_own(app):
    called, others = [], []
    routes = Router()
    routes.get("/", name="home")(lambda request: Response.text("other"))
    other = App(routes)
    app.use(counting([], called, "a"))
    other.use(counting([], others, "b"))
    assert [one.handle(Request("GET", "/")).body for one in (app, other, app)] == [b"home", b"other", b"home"]
    assert (called, others) == (["a", "a"], ["b"])


def test_a_late_route_and_a_late_hook_count(app):
    seen = []
    app.use(counting([], [], "a"))
    app.handle(Request("GET", "/"))
    app.router.get("/late", name="late")(lambda request: Response.text("late"))
    app.after(lambda request, response: seen.append(response.body))
    assert app.handle(Request("GET", "/late")).body == b"late"
    assert seen == [b"late"]
