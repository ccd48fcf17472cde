"""The readers of what runners of tests write: the text of a report, XML, and JUnit's cases; CPython 3.6 up.

Code of the project may have written any of it: what is no report raises ValueError, and where there is none EOFError.
"""

import errno
import os
import re
import stat

#: The bytes that a report has at most.
MOST = 8 << 20
#: The errors of a system where a file is not there, or was put out of reach.
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.ENXIO, errno.EAGAIN)
#: What stands before a document's first element: one that declares something of its own, such as entities, is none.
HEAD = re.compile(r"\s*(?:<\?xml\s[^<>]*\?>\s*)?<\w")
#: What XML cannot have, and some runners write all the same.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
#: What a case has that did not pass; PHPUnit has warnings besides.
FAULTS = ("failure", "error", "warning")


def text_of(path):
    """Return the text of a report. Raises OSError where it cannot be read by no fault of the project's."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in ABSENT:
            raise EOFError("there is no report") from None
        raise
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST:
            raise ValueError("a report is a file, and not as long")
        with open(opened, encoding="utf-8", errors="replace", closefd=False) as file:
            return file.read()
    finally:
        os.close(opened)


def xml(text):
    """Return the first element of a document."""
    from xml.etree import ElementTree  # takes longer than all else here, and most jobs read no XML

    text = CONTROLS.sub("", text)
    if not HEAD.match(text):
        raise ValueError("not a document that declares nothing")
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - nothing is declared, and this process is sandboxed
    except ElementTree.ParseError as error:
        raise ValueError("not well-formed") from error


def junit(text, *, counted=False):
    """Return (path, outcome, text of the failure, attributes) for each case of a report, in its order.

    A path is the names of the suites around a case and its own. ``counted``: the report says how many cases it has and
    how many of them failed, which has to be right.
    """
    root, entries = xml(text), []
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError("not a report of JUnit")
    collect(root, (), entries)
    failed = sum(outcome == "failed" for _, outcome, _, _ in entries)
    total, *faulty = (int(root.get(name, 0)) for name in ("tests", "failures", "errors"))
    if counted and (len(entries), failed) != (total, sum(faulty)):
        raise ValueError("the counts do not agree")
    return entries


def collect(element, path, entries):
    """Collect the cases below an element."""
    for child in element:
        inner = (*path, child.get("name", ""))
        if child.tag == "testsuite":
            collect(child, inner, entries)
        elif child.tag == "testcase":
            faults = [each for each in child if each.tag in FAULTS]
            words = (each.text if (each.text or "").strip() else each.get("message", "") for each in faults)
            entries.append((inner, outcome_of(child, bool(faults)), "\n".join(words), dict(child.attrib)))


def outcome_of(case, is_faulty):
    """Return the outcome of a case; node's runner has tests to do, and GoogleTest says how it came to each end."""
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("type") == "todo":
        return "xfailed" if is_faulty else "xpassed"
    if is_faulty:
        return "failed"
    ran = case.get("status", "run") == "run" and case.get("result", "completed") == "completed"
    return "passed" if ran and skipped is None else "skipped"
