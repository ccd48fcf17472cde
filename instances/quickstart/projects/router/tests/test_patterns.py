import pytest

from router.errors import BuildError, PatternError
from router.pattern import Pattern


@pytest.mark.parametrize(
    ("source", "path", "values"),
    [
        ("/", "/", {}),
        ("/users/<int:id>", "/users/7", {"id": 7}),
        ("/users/<name>", "/users/ada", {"name": "ada"}),
        ("/posts/<slug:title>", "/posts/on-call-notes", {"title": "on-call-notes"}),
        ("/files/<path:rest>", "/files/a/b.txt", {"rest": "a/b.txt"}),
        ("/a.b", "/a.b", {}),
    ],
)
def test_match(source, path, values):
    assert Pattern.compile(source).match(path) == values


@pytest.mark.parametrize(
    ("source", "path"),
    [("/users/<int:id>", "/users/x"), ("/users/<name>", "/users/a/b"), ("/a.b", "/aXb"), ("/a", "/a/")],
)
def test_no_match(source, path):
    assert Pattern.compile(source).match(path) is None


@pytest.mark.parametrize("source", ["users", "/<hex:id>", "/<id>/<id>"])
def test_bad_pattern(source):
    with pytest.raises(PatternError):
        Pattern.compile(source)


def test_build_quotes():
    assert Pattern.compile("/tags/<name>").build({"name": "a/b c"}) == "/tags/a%2Fb%20c"


def test_build_needs_exactly_its_values():
    pattern = Pattern.compile("/users/<int:id>")
    with pytest.raises(BuildError):
        pattern.build({})
    with pytest.raises(BuildError):
        pattern.build({"id": 1, "page": 2})
