"""Foreign text: made safe to show, so that it cannot steer a terminal or break a file, and taken apart by lines."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import AnyStr

#: What pipelines take for commands in what a step prints: ``::name ...::`` where a line starts, ``##name[`` anywhere.
_COMMAND = re.compile(r"^:(?=:[A-Za-z-]+(?:\s[^\n]*?)?::)|#(?=#[A-Za-z]*\[)")

#: What makes a terminal print in a colour.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

#: Lines around one that are shown with it; nearer ones are one window.
MARGIN = 6


def escape_controls(text: str) -> str:
    """Return ``text`` with all that is not printable (controls, text direction, lone surrogates) as its escape.

    What is left is also legal in XML, and no command to a pipeline that prints it, whatever is put before it.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return escape_ci_commands(text) if "::" in text or "##" in text else text


def escape_ci_commands(line: str) -> str:
    """Return a line with the first sign of each command to a pipeline as its escape."""
    blank = len(line) - len(line.lstrip())
    return line[:blank] + _COMMAND.sub(lambda found: f"\\x{ord(found[0]):02x}", line[blank:])


def split_lines(text: AnyStr) -> list[AnyStr]:
    """Return the lines without their ends, which are line feeds alone (or with a carriage return before them).

    So git and compilers number lines; ``str.splitlines`` takes form feeds, U+0085 and U+2028 for ends too.
    """
    feed, back = ("\n", "\r") if isinstance(text, str) else (b"\n", b"\r")
    lines: list[AnyStr] = text.split(feed)
    ended: list[AnyStr] = [line.removesuffix(back) for line in lines[:-1]]
    return ended + [line for line in lines[-1:] if line]


def whole_lines(text: str) -> list[str]:
    """Return the lines of a text, each with the newline at its end."""
    return [f"{line}\n" for line in split_lines(text)]


def without_lines(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text without these lines, from the first to the last of each span."""
    lines = whole_lines(text)
    gone = {line for first, last in spans for line in range(first, last + 1)}
    kept: list[str] = []
    for number, line in enumerate(lines, start=1):
        # two blank lines before what is gone are not to become four
        blank = not line.strip() and number - 1 in gone
        if number not in gone and not (blank and (not kept or not kept[-1].strip())):
            kept.append(line)
    return "".join(kept)


def windows(source: str, lines: Iterable[int], margin: int = MARGIN) -> list[str]:
    """Return the lines around each of ``lines``; windows that touch are one."""
    texts = split_lines(source)
    spans: list[tuple[int, int]] = []
    for line in sorted(set(lines)):
        first, last = max(1, line - margin), min(len(texts), line + margin)
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
        elif first <= last:
            spans.append((first, last))
    return ["\n".join(texts[first - 1 : last]) for first, last in spans]


def output_lines(output: str) -> list[str]:
    """Return the lines that a tool printed, without colours; a carriage return ends one too, as in progress bars."""
    return split_lines(_COLOUR.sub("", output).replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str, limit: int = 200) -> str:
    """Return ``text`` on one line, its controls escaped, and cut to ``limit`` characters."""
    return cut(escape_controls(" ".join(text.split())), limit)


def ascii_line(text: str, limit: int = 200) -> str:
    """Return the same in ASCII alone, so that its length is its width."""
    return cut(one_line(text, limit).encode("ascii", "backslashreplace").decode(), limit)


def cut(text: str, limit: int) -> str:
    """Return ``text`` if it is at most ``limit`` characters long, else its start and three dots."""
    return text if len(text) <= limit else text[: max(0, limit - 3)] + "..."


def cut_middle(text: str, limit: int) -> str:
    """Return ``text`` if it is at most ``limit`` characters long, else its start, what is left out, and its end."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"


def last_line(*outputs: bytes | str, limit: int = 300) -> str:
    """Return the last line, stripped and cut, of the first output that is not blank; empty if all are."""
    for output in outputs:
        lines = output_lines((output if isinstance(output, str) else output.decode(errors="replace")).strip())
        if lines:
            return cut(lines[-1].strip(), limit)
    return ""


def label_words(labels: Mapping[str, str]) -> str:
    """The labels of a comment on one line, category and kind first; they come from a file that anybody may write."""
    return _label_words(tuple(labels.items()))


@functools.lru_cache(1024)  # many comments have the same few
def _label_words(pairs: tuple[tuple[str, str], ...]) -> str:
    labels = dict(pairs)
    first = [labels[name] for name in ("category", "kind") if name in labels]
    others = [f"{name} {word}" for name, word in sorted(labels.items()) if name not in ("category", "kind")]
    return ", ".join(one_line(word, 60) for word in (*first, *others))
