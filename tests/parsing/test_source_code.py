"""Parts of source code in any language: by its grammar, and by words where there is none."""

from __future__ import annotations

import pytest

from pytest_crab.parsing.source_code import environment_bindings, mentions, parts_around, signatures_of_tests
from pytest_crab.text import windows


@pytest.mark.parametrize(
    ("path", "source", "first", "last"),
    [
        ("a.go", "package a\n\n// f is one.\nfunc f() int {\n\treturn 1\n}\n\nvar b = 2\n", 3, 6),
        ("a.rs", "impl A {\n    #[inline]\n    fn f() -> i8 {\n        1\n    }\n}\n", 2, 5),
        ("A.java", "class A {\n  int b;\n\n  /** One. */\n  int f() {\n    return 1;\n  }\n}\n", 4, 7),
        ("a.cc", "int b;\nint A::f() {\n  return 1;\n}\n", 2, 4),
        ("a.ts", "class A {\n  f() {\n    return 1;\n  }\n}\n", 2, 4),
    ],
)
def test_functions_of_other_languages_stand_with_what_is_right_above_them(
    path: str, source: str, first: int, last: int
) -> None:
    pytest.importorskip("tree_sitter", reason="syntax trees need the extra mutation")
    at = next(
        line for line, text in enumerate(source.splitlines(), 1) if text.strip() in ("return 1", "return 1;", "1")
    )
    assert parts_around(path, source, {at}) == ["\n".join(source.splitlines()[first - 1 : last])]


def test_what_is_in_no_function_or_has_no_grammar_stands_in_its_window() -> None:
    assert parts_around("a.go", "package a\n\nvar b = 2\n", {3}) == windows("package a\n\nvar b = 2\n", {3})
    assert parts_around("a.f90", "x = 2\n", {1}) == ["x = 2"]


def test_windows_that_touch_are_one() -> None:
    text = "\n".join(str(line) for line in range(1, 101))
    assert [part.split("\n")[0] + " " + part.split("\n")[-1] for part in windows(text, [3, 10, 50, 100])] == [
        "1 16", "44 56", "94 100",
    ]  # fmt: skip
    assert windows(text, [500]) == []


def test_other_languages_are_found_by_the_name_where_they_import() -> None:
    files = {
        "cart.ts": "export const total = 1",
        "page.ts": 'import { total } from "./cart"\nconst a = total',
        "note.ts": "// the cart\nconst b = 1",
        "index.ts": 'import "./other"',
    }
    assert dict(mentions(files, ["cart.ts"])) == {"page.ts": [files["page.ts"]]}
    assert dict(mentions(files, ["index.ts"])) == {}


def test_tests_keep_their_signatures() -> None:
    source = (
        'func TestTotal(t *testing.T) {\n  x := 1\n  t.Run("a", nil)\n}\nit("adds", () => {\n  let y = 2\n  expect(y)\n'
    )
    assert len(signatures_of_tests(source).splitlines()) == 4


def test_settings_are_mapped_to_the_places_that_read_them() -> None:
    files = {
        "a.ts": "const x = process.env.PORT\nconst y = 1",
        "b.go": 'p := os.Getenv("PORT")\nq := os.LookupEnv("HOST")',
    }
    assert dict(environment_bindings(files)) == {
        "PORT": ["a.ts:1: const x = process.env.PORT", 'b.go:1: p := os.Getenv("PORT")'],
        "HOST": ['b.go:2: q := os.LookupEnv("HOST")'],
    }
