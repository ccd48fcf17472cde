import ast
import pathlib
import re

DENIED = re.compile(r"\b(not|no|never|nothing|without|neither|nor|instead|cannot|rather than)\b|n't\b|\bunencrypted", re.IGNORECASE)
SECRET = re.compile(
    r"\b(nobody|no one|no-one|only (the server|we|you|the key))\b( else)?[^.,;:]{0,25}\b(read|see|decode)\b"
    r"|\b(cannot|can't|can not|could not) (be )?(\w+ (or|nor) )?(read|seen|decoded)\b|\bunreadable\b|\bconfidential\b|\bkeeps? (it|them|what|(the |a |your )?values?|(the |a |your )?cookies?)\b[^.]{0,20}secret",
    re.IGNORECASE,
)
OPEN = re.compile(
    r"\b(can|could|may|might|able to|free to)\b[^.]{0,40}\b(read|see|decode|look)\b|\breadable\b|\bvisible\b|\b(not|no|isn't|never) (a )?secret"
    r"|\bin the clear\b|\bin plain|\bnot hidden\b|\b(reads?|sees?) (it|the value|what)\b",
    re.IGNORECASE,
)


def section():
    """What the README says about signing, without its examples."""
    text = re.sub(r"^```.*?^```", "", pathlib.Path("README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    found = [part for part in parts if "Signer" in part or part.lower().startswith("signed cookies")]
    return " ".join(" ".join(found).split())


def docstrings():
    tree = ast.parse(pathlib.Path("src/router/signing.py").read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return " ".join(" ".join((ast.get_docstring(node) or "").split()) for node in ast.walk(tree) if isinstance(node, kinds))


def sentences(text):
    return re.split(r"(?<=[.:;!?])\s+", text)


def test_nothing_claims_that_it_is_encrypted():
    told = sentences(section()) + sentences(docstrings())
    assert [text for text in told if re.search("encrypt", text, re.IGNORECASE) and not DENIED.search(text)] == []
    assert [text for text in told if SECRET.search(text)] == []


def test_the_readme_says_that_it_can_be_read():
    told = sentences(section())
    denied = [text for text in told if re.search("encrypt", text, re.IGNORECASE) and DENIED.search(text)]
    assert denied or [text for text in told if OPEN.search(text) and not SECRET.search(text)]


def test_it_still_says_what_signing_is_for():
    assert re.search(r"chang|tamper|integrity|authentic|trust|forg|alter|modif|fak|manipulat", section(), re.IGNORECASE)
