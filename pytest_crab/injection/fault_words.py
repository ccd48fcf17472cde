"""The comment on a seeded fault: what is wrong and what should be there, as a reviewer writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_crab.curation.mutation import Mutant
from pytest_crab.text import one_line
from pytest_crab.types import Category

#: The most characters of a piece of code in a comment.
_LONGEST = 160

#: A number that is only a setting, and one that something is counted or compared with.
_SETTING = re.compile(r"(?<![=<>!])=\s*\d+$")
_COUNTED = re.compile(r"[<>\[:%*/+-]|==|!=|^range\(|^return\b")
#: Arguments without which a class cannot be made.
_FACTORIES = ("default=", "default_factory=", "factory=")

#: The end of what gives a value where there is none, and asks for nothing.
_FALLBACK = re.compile(r"(?:\bor|\|\|) [\[({\"'\d][^ ]*$")

_EDGES = {"<", "<=", ">", ">="}
_LOGIC = {"and": "both are needed", "&&": "both are needed", "or": "either is enough", "||": "either is enough"}
_SUMS = {"+", "-", "*", "/", "+=", "-="}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultWords:
    """The words on a fault."""

    kind: str
    #: The concern that it belongs to.
    category: Category
    #: The comment on it.
    body: str


#: By operator: the kind, the category, and the comment. ``subject`` is what the change is about, ``first`` and
#: ``second`` its two parts where it has two, ``before`` and ``after`` the two texts; the others name the function.
_WORDS = {
    "turned": (
        "condition",
        Category.FUNCTIONAL,
        "This condition is the wrong way round: the branch is for when `{subject}` holds.",
    ),
    "negation": (
        "condition",
        Category.FUNCTIONAL,
        "This condition is the wrong way round: it should be `{subject}`.",
    ),
    "number": (
        "boundary",
        Category.FUNCTIONAL,
        "This is off by one: {in_scope}`{after}` should be `{before}`, as in `{subject}`.",
    ),
    "truth": (
        "condition",
        Category.FUNCTIONAL,
        "`{after}` is the wrong way round here: it should be `{before}`, as in `{subject}`.",
    ),
    "argument": (
        "argument",
        Category.FUNCTIONAL,
        "`{subject}` is not passed here, so the call quietly falls back to its default. Please pass it.",
    ),
    "handed-on": (
        "argument",
        Category.FUNCTIONAL,
        "`{subject}` is not handed on in this call, so what the caller gave is lost. Please pass it through.",
    ),
    "fallback": (
        "argument",
        Category.ROBUSTNESS,
        "There is no fallback here where nothing is found: it should be `{subject}`.",
    ),
    "swapped": (
        "argument",
        Category.FUNCTIONAL,
        "The arguments are in the wrong order: this should be `{subject}`.",
    ),
    "guard": (
        "unchecked input",
        Category.ROBUSTNESS,
        "Nothing checks for `{first}` here. {Scope}should do `{second}` in that case before it goes on.",
    ),
    "operand": (
        "unchecked input",
        Category.ROBUSTNESS,
        "The condition is incomplete: `{subject}` has to be part of it too.",
    ),
    "case": (
        "case",
        Category.FUNCTIONAL,
        "One case is not handled here: the branch `{subject}` is needed.",
    ),
    "member": (
        "case",
        Category.FUNCTIONAL,
        "`{subject}` is missing in this list: it has to be treated like the others.",
    ),
    "step": (
        "step",
        Category.FUNCTIONAL,
        "A step is missing {at}: `{subject}` has to be done here.",
    ),
    "lock": (
        "lock",
        Category.ROBUSTNESS,
        "This changes shared state without `{subject}`: two threads can get in each other's way. Please hold it here.",
    ),
    "swallowed": (
        "error",
        Category.ERROR_HANDLING,
        "`{first}` swallows the error, and the caller never learns of it. It should `{second}`.",
    ),
    "await": (
        "await",
        Category.FUNCTIONAL,
        "`{subject}` is not awaited, so that it has not happened when the code goes on. Please await it.",
    ),
    "shared": (
        "default",
        Category.FUNCTIONAL,
        "The default of `{subject}` is shared: what one use puts into it, the next finds. Please make it each time.",
    ),
    "alias": (
        "default",
        Category.FUNCTIONAL,
        "`{subject}` is used as it is, so that changing it changes the caller's own object. Please work on a copy.",
    ),
}


def fault_words(mutant: Mutant) -> FaultWords | None:
    """Return the words on a mutant; None for one that no person would have written."""
    if _is_odd(mutant):
        return None
    if mutant.operator == "operator":
        return _of_sign(mutant)
    if mutant.operator == "resource":
        return FaultWords(kind="resource", category=Category.ROBUSTNESS, body=_of_resource(_short(mutant.subject)))
    found = _WORDS.get(mutant.operator)
    if found is None:
        return None
    kind, category, body = found
    first, _, second = mutant.subject.partition("\0")
    scope = f"`{mutant.scope}`" if mutant.scope else ""
    told = body.format(
        subject=_short(mutant.subject),
        first=_short(first),
        second=_short(second),
        before=mutant.before,
        after=mutant.after,
        Scope=f"{scope} " if scope else "It ",
        at=f"in {scope}" if scope else "here",
        in_scope=f"in {scope} " if scope else "",
    )
    return FaultWords(kind=kind, category=category, body=told)


def _is_odd(mutant: Mutant) -> bool:
    """Return whether a change is a setting's, a loop's end, or an argument without which a class cannot be made."""
    if mutant.operator == "number":
        return bool(_SETTING.search(mutant.subject)) or not _COUNTED.search(mutant.subject)
    if mutant.operator == "argument":
        return mutant.subject.startswith(_FACTORIES)
    return mutant.operator == "guard" and mutant.subject.endswith("break")


def _of_sign(mutant: Mutant) -> FaultWords | None:
    """The words on a sign that became another one; None where it joins texts or lists, or gives a value."""
    meant = _short(mutant.subject)
    if mutant.before in _EDGES:
        kind = "boundary"
        body = f"The edge is wrong: where both sides are equal this goes the other way. It should be `{meant}`."
    elif mutant.before in _LOGIC:
        if _FALLBACK.search(mutant.subject):
            return None
        kind, body = "condition", f"These are joined wrongly, since {_LOGIC[mutant.before]}: it should be `{meant}`."
    elif mutant.before in _SUMS:
        if re.search(r"[\"'\[{]", mutant.subject):
            return None
        kind, body = "arithmetic", f"`{mutant.after}` is the wrong sign here: it should be `{meant}`."
    else:
        kind, body = "condition", f"This comparison is the wrong way round: it should be `{meant}`."
    return FaultWords(kind=kind, category=Category.FUNCTIONAL, body=body)


def _of_resource(subject: str) -> str:
    if subject.startswith("finally"):
        return f"Nothing cleans up here when an error comes: `{subject}` has to run in any case."
    if subject.rpartition("(")[0].endswith(("close", "release", "shutdown")):
        return f"`{subject}` is missing, so that what was opened stays open."
    return (
        f"`{subject}` is not closed when an error comes, and later than it should be if none does. Please use `with`."
    )


def _short(code: str) -> str:
    return one_line(code, _LONGEST).replace("`", "'")
