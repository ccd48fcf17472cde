import pytest

from router import App, Request, Router, StaticFiles


@pytest.fixture
def app(tmp_path):
    public, drafts = tmp_path / "public", tmp_path / "public-drafts"
    (public / "css").mkdir(parents=True)
    drafts.mkdir()
    (public / "css" / "shop.css").write_bytes(b"body {}")
    (public / "index.html").write_bytes(b"index")
    (drafts / "index.html").write_bytes(b"drafts")
    (drafts / "offer.txt").write_bytes(b"secret")
    (tmp_path / "publicity.txt").write_bytes(b"secret")
    (public / "linked.txt").symlink_to(drafts / "offer.txt")
    routes = Router()
    routes.add(["GET"], "/static/<path:filename>", StaticFiles(public), name="static")
    return App(routes)


@pytest.mark.parametrize(
    "filename",
    ["../public-drafts/offer.txt", "css/../../public-drafts/offer.txt", "../public-drafts", "../publicity.txt", "linked.txt"],
)
def test_what_lies_beside_the_root_is_not_served(app, filename):
    assert 400 <= app.handle(Request("GET", f"/static/{filename}")).status < 500


def test_an_absolute_name_is_not_served(app, tmp_path):
    assert 400 <= app.handle(Request("GET", f"/static/{tmp_path}/public-drafts/offer.txt")).status < 500


@pytest.mark.parametrize(("filename", "body"), [("css/shop.css", b"body {}"), ("css/..", b"index"), ("./index.html", b"index")])
def test_what_lies_below_it_is(app, filename, body):
    response = app.handle(Request("GET", f"/static/{filename}"))
    assert (response.status, response.body) == (200, body)
