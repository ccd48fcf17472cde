"""Answers of a coding agent that has used no tool: whether it leaves the findings, and what went wrong if not."""

from __future__ import annotations

import re

from pytest_crab.text import one_line

#: Told once to an agent that ends without having used a tool.
REMINDER = (
    "You have used no tool, so nothing is changed, and nobody reads what you only write. Use your tools now to change "
    "the files. If you leave the code as it is, answer with one line that begins with LEFT: and says why."
)
_LONGEST_QUOTE = 160

_MARK = re.compile(r"^\W*LEFT\b\W*:", re.MULTILINE)
#: How models put it that they mean to change nothing.
_LEAVES = re.compile(
    r"\b(?:leav(?:e|es|ing)|left|kept|keep(?:ing)?)\b.{0,60}\b(?:as (?:it|they|is)\b|alone|unchanged|untouched)"
    r"|\bno (?:code )?(?:changes?|edits?|fix(?:es)?|modifications?) (?:is |are |was |were )?"
    r"(?:needed|necessary|required|made|warranted|to make)\b"
    r"|\bnothing (?:to|needs to be|has to be|should be) (?:change|fix|do|changed|fixed|done)\b"
    r"|\b(?:not|n't|never) (?:be )?(?:change|changed|changing|act|acting|apply|applying|fix|fixing)\b"
    r"|\b(?:made|make|making) no (?:code )?changes?\b"
    r"|\bI give up\b|\b(?:findings?|remarks?|it|they|this) (?:is|are) (?:all )?(?:wrong|incorrect|mistaken|invalid)\b",
    re.IGNORECASE | re.DOTALL,
)
#: A call of a tool that stands in the text, as a server without a parser for its model's calls hands it on.
_CALL = re.compile(
    r"<\|?/?(?:tool_?calls?|function(?:_?calls?|=\w+)?|invoke|python_tag)\b"
    r"|\[TOOL_CALLS\]|\"(?:name|tool|function)\"\s*:.{0,200}\"(?:arguments|parameters|input|args)\"\s*:",
    re.IGNORECASE | re.DOTALL,
)
_OFFER = re.compile(
    r"\b(?:shall|should|would you like|do you want|may) (?:I|me)\b|\bif you(?:'d| would) like\b"
    r"|\blet me (?:know|start|begin|look|read|open|check|fix|change|edit)\b"
    r"|\bI(?:'ll| will| am going to|'m going to| can) (?:now |first )?"
    r"(?:start|begin|look|read|open|check|fix|change|edit|go)\b",
    re.IGNORECASE,
)


#: What an agent's run of a client is that ended so, whatever its words.
IDLE = "it used no tool, though it was reminded, and does not say that it leaves the findings"


def leaves_findings(text: str) -> bool:
    """Return whether an answer says that the findings are left as they are, and neither calls a tool nor offers to."""
    if _MARK.search(text):
        return True
    return _LEAVES.search(text) is not None and _CALL.search(text) is None and _OFFER.search(text) is None


def describe_idleness(text: str) -> str:
    """Return, for a sentence, what an agent did that neither used a tool nor said that it leaves the findings."""
    if not text.strip():
        return "its last answer is empty"
    said = f"it said {one_line(text, _LONGEST_QUOTE)!r}"
    if _CALL.search(text):
        return f"its calls of tools came as text, so its server seems to lack a parser for them; {said}"
    return f"it offered to begin and did not; {said}" if _OFFER.search(text) else said
