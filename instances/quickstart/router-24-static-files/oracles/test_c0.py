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
    (public / "linked").symlink_to(drafts)
    (drafts / "deep").mkdir()
    (drafts / "deep" / "offer.txt").write_bytes(b"secret")
    (tmp_path / "public2").mkdir()
    (tmp_path / "public2" / "offer.txt").write_bytes(b"secret")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "other" / "public").mkdir(parents=True)
    (tmp_path / "other" / "public" / "offer.txt").write_bytes(b"secret")
    (public / "a..b").mkdir()
    (public / "a..b" / "c.txt").write_bytes(b"c")
    (public / "public-drafts").mkdir()
    (public / "public-drafts" / "offer.txt").write_bytes(b"offer")
    routes = Router()
    routes.add(["GET"], "/static/<path:filename>", StaticFiles(public), name="static")
    return App(routes)


@pytest.mark.parametrize(
    "filename",
    ["../public-drafts/offer.txt", "css/../../public-drafts/offer.txt", "../public-drafts", "../publicity.txt", "linked.txt",
     "linked/offer.txt", "linked", "linked/deep/offer.txt", "../public-drafts/deep/offer.txt", "../public2/offer.txt", "../secret.txt", "..", "../..",
     "../other/public/offer.txt", "./../public-drafts/offer.txt", "nowhere/../../public-drafts/offer.txt"],
)
def test_what_lies_beside_the_root_is_not_served(app, filename):
    assert 400 <= app.handle(Request("GET", f"/static/{filename}")).status < 500


def test_an_absolute_name_is_not_served(app, tmp_path):
    assert 400 <= app.handle(Request("GET", f"/static/{tmp_path}/public-drafts/offer.txt")).status < 500


@pytest.mark.parametrize(("filename", "body"), [("css/shop.css", b"body {}"), ("css/..", b"index"), ("a..b/c.txt", b"c"), ("public-drafts/offer.txt", b"offer")])
def test_what_lies_below_it_is(app, filename, body):
    response = app.handle(Request("GET", f"/static/{filename}"))
    assert (response.status, response.body) == (200, body)


def test_however_the_root_is_written(tmp_path, monkeypatch):
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "a.txt").write_bytes(b"a")
    (tmp_path / "public-drafts").mkdir()
    (tmp_path / "public-drafts" / "x").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "public")
    monkeypatch.chdir(tmp_path)
    for root in ("public", "public/", "./public", "public/../public", f"{tmp_path}/public/", "link"):
        routes = Router()
        routes.add(["GET"], "/<path:filename>", StaticFiles(root), name="static")
        assert App(routes).handle(Request("GET", "/a.txt")).status == 200, root
        assert 400 <= App(routes).handle(Request("GET", "/../public-drafts/x")).status < 500, root
