"""Candidates from a repository's fixes: the change that brought the fault, or a later one with the fix taken back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from typing_extensions import override

from pytest_crab import diffs, pytest_files
from pytest_crab.curation import code_parts
from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.same_code import same_code
from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.ecosystems import DEFAULT, grammar_of, of_file
from pytest_crab.ecosystems.files_of_tests import is_test, may_have_tests
from pytest_crab.errors import DiffRejected
from pytest_crab.git_mirror import owner_and_name
from pytest_crab.injection.proposals import FIXED_ON, METHOD, ORIGIN, Method, Proposal, Remark, propose, to_candidate
from pytest_crab.injection.repository import Change, Repository
from pytest_crab.injection.witnesses import conftests_for, is_conftest
from pytest_crab.lazy import lazy
from pytest_crab.parsing.changed_paths import is_documentation
from pytest_crab.sources.git import bring
from pytest_crab.text import whole_lines
from pytest_crab.types import PullCandidate, PullRequestFacts

#: The tag of a candidate with the commit of its fix; where it came from is no secret, what it says is.
FIX = "fix"

#: A fix changes at most so many lines of source; what is larger is a rewrite that mends something on the way.
_LONGEST_FIX = 80
_MOST_SOURCES = 4

#: A pull request has so many changed lines and files: a bare revert is none, and what is larger is hardly reviewed.
_SMALLEST, _LARGEST, _MOST_FILES = 4, 800, 20

#: So many later changes of a fix's files are looked at, and so many of them tried.
_LOOKED_AT, _TRIED = 120, 12

#: So much of a fix's own description becomes part of a comment.
_LONGEST_WORDS = 600

#: The fault is in the lines of a change that are at most so many apart.
_NEAR = 40

_MENDS = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bugs?|bugfix|regression|crash(?:es|ed)?|wrong(?:ly)?|incorrect(?:ly)?|broken|breaks?|handles?"
    r"|prevents?|avoids?|leaks?|race|deadlock|correct(?:ly|s)?|don'?t|do not|doesn'?t|should|no longer|restore[sd]?"
    r"|missing|fail(?:s|ed|ure|ing)?|errors?|raises?|ensures?|respects?|honou?rs?|ignores?d?|properly|resolves?)\b",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"^(?:bump\b|release\b|prepare\b|version\b"
    r"|(?:docs?|ci|build|style|chore|typing)\b[(:!]|fix(?:e[sd])? (?:\w+ )?(?:py)?tests?\b(?! and fix))"
    r"|\b(?:typos?|lint(?:ing|er)?|pre-commit|coverage|changelog|deprecat\w+|rename\w*"
    r"|refactor\w*|reformat\w*|type hints?|annotations?|drop(?:s|ped)?|quotes|style"
    r"|(?:more|better|nicer|detailed|clearer|improved?) (?:helpful |useful )?(?:error )?messages?|helpful)\b",
    re.IGNORECASE,
)
#: The titles of reverts, and of merges of branches.
OF_BRANCHES = re.compile(
    r"revert(?:s|ed)?\b(?! to\b)|merge (?:(?:remote-tracking )?branch|pull request)\b"
    r"|merge \S+ (?:into \S+|to (?:main|master))$",
    re.IGNORECASE,
)
_FIX = re.compile(r"(?:tests? and )?(?:bug ?)?fix(?:e[sd])?\b:?\s+(?:(?:an?|the) )?", re.IGNORECASE)
_SAYS_NOTHING = re.compile(
    r"(?:proposed |another |minor |small |a |few |some |tests? and )*(?:bug ?)?fix(?:e[sd])?(?: (?:for|in|of))?"
    r"(?: the| a)?(?: (?:issues?|bugs?|tickets?|tests?|failing|broken))*\s*#?\d*\.?",
    re.IGNORECASE,
)
#: What a description has that says nothing of a fault: lists of commits, and lines for tools.
_NO_WORDS = re.compile(
    r"[*#-]|(?:co-authored|signed-off|close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see)\b.{0,40}$", re.IGNORECASE
)
_ADDS = re.compile(
    r"^(?:feat\b|(?:adds?|implements?|introduces?|exposes?|supports?|allows?|new)\b"
    r"(?!.*\b(?:missing|fix|bug|check|guard|valida)))",
    re.IGNORECASE,
)
#: A number says nothing to those who cannot see the issue.
_NUMBERED = re.compile(
    r"[,;]?\s*(?:\bthus |\bwhich )?\(?\b(?:fix(?:e[sd]|ing)?|close[sd]?|resolve[sd]?|see|refs?)\s+#\d+\)?",
    re.IGNORECASE,
)
#: The subjects of the commits that were squashed.
_LISTED = re.compile(r"^\s*[*-]\s.*$", re.MULTILINE)
_PREFIX = re.compile(
    r"^wip\b:?\s*|^(?:fix|bugfix|bug|perf|feat)(?:\([\w./-]+\))?!?:\s*|^\[[\w. -]+\]\s*"
    r"|^(?:fix(?:e[sd])?|closes?)\s+#\d+\s*[:,-]?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The files of a fix, by what they are."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    #: There for tests to read.
    data: tuple[str, ...]
    #: None of these: texts on it, settings, tests in another language.
    others: tuple[str, ...]


@dataclass(kw_only=True)
class FixSource(CandidateSource):
    """The fixes of a repository that change source and tests, the newest first."""

    repository: Repository
    #: Where others find the repository.
    url: str
    #: Those that may be used, in order of preference.
    methods: tuple[Method, ...] = (Method.INTRODUCED, Method.REVERSED)
    #: A day: only fixes from then on.
    since: str | None = None
    kind: str = ORIGIN
    _parts: dict[str, Parts | None] = field(default_factory=dict)

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "url": self.url, "methods": list(self.methods), "version": 8}

    @lazy
    def _places(self) -> dict[str, int]:
        return {change.commit: at for at, change in enumerate(self.repository.line)}

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        """One for each fix. Raises SourceError."""
        repo = owner_and_name(self.url)
        for at, change in enumerate(self.repository.line):
            if (
                (self.since is None or change.day >= self.since)
                and mends(change, self.repository.changed[at])
                and parts_of(self.repository.changed[at])
            ):
                yield PullCandidate(
                    id=f"{repo.replace('/', '__')}-{change.commit[:10]}",
                    origin=self.kind,
                    repo=repo,
                    pull_request=PullRequestFacts(number=1, title="(not chosen yet)"),
                    tags={FIX: change.commit},
                )

    @override
    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Return the first proposal that can be made of the fix. Raises SourceError."""
        return self.propose(candidate, self.methods, context)

    def propose_others(self, candidate: PullCandidate, context: CurationContext) -> Iterator[PullCandidate]:
        """Yield the candidate by each method after the one that it was made by. Raises SourceError."""
        used = Method(candidate.tags[METHOD])
        for method in self.methods[self.methods.index(used) + 1 :] if used in self.methods else ():
            found = self.propose(candidate, [method], context)
            if isinstance(found, PullCandidate):
                yield found

    def propose(
        self, candidate: PullCandidate, methods: Sequence[Method], context: CurationContext
    ) -> PullCandidate | Rejection:
        """Return the candidate with the first proposal of these methods that can be made. Raises SourceError."""
        place = self._places.get(candidate.tags[FIX])
        if place is None:
            raise self.repository.missing(candidate.tags[FIX])
        fix, parts = self.repository.line[place], parts_of(self.repository.changed[place])
        assert parts is not None
        change = self.repository.diff(fix.parent, fix.commit, parts.sources)
        reasons = [found for found in [self._unfit_fix(fix, parts, change)] if found is not None]
        if reasons:
            return reasons[0]
        for method in methods:
            make = self._introduced if method is Method.INTRODUCED else self._reversed
            try:
                found = make(fix, parts, change)
            except ValueError as error:
                found = Rejection(reason="a file of it cannot be read", detail=str(error))
            if isinstance(found, Proposal):
                bring(self.url, found.commit, self.repository.folder, context.folder)
                return to_candidate(candidate, found)
            reasons.append(found)
        return Rejection(reason=reasons[-1].reason, detail="; ".join(one.detail for one in reasons))

    def _unfit_fix(self, fix: Change, parts: Parts, change: str) -> Rejection | None:
        """Return why no fault can be made of a fix; None if one may."""
        lines = sum(diffs.counts(change))
        try:
            if not 0 < lines <= _LONGEST_FIX:
                return Rejection(reason="the fix is large", detail=f"{lines} changed lines of source")
            if only_words(self.repository, fix, parts.sources):
                return Rejection(reason="the fix changes no code", detail="its source differs in texts or types alone")
            if _SAYS_NOTHING.fullmatch(subject_of(fix)) and not words_on(fix):
                return Rejection(reason="nothing says what the fix mends", detail=subject_of(fix))
            if not any(self._own_tests(fix, parts, path) for path in parts.tests):
                return Rejection(reason="its tests ask for nothing but what the fix adds", detail=subject_of(fix))
        except ValueError as error:
            return Rejection(reason="a file of it cannot be read", detail=str(error))
        return None

    def _own_tests(self, fix: Change, parts: Parts, path: str) -> list[str]:
        """Return the tests of a file that the fix added or changed and that ask for no name or wording which it adds.

        Whoever mends the fault in another way has not these. Raises ValueError.
        """
        read = self.repository.read
        text = read(fix.tree, path)
        if text is None or is_conftest(path):
            return []
        both = [
            (code_parts.of(source), read(fix.parent, source) or "", read(fix.tree, source) or "")
            for source in parts.sources
        ]
        new = {name for reader, *texts in both for name in reader.added_names(*texts)}
        wordings = {wording for reader, *texts in both for wording in reader.added_texts(*texts)}
        added = diffs.changed_lines(self.repository.diff(fix.parent, fix.commit, [path])).get(path, set())
        asking = code_parts.of(path).asking(text, new, wordings)
        return [name for name in code_parts.tests_at(path, text, added) if name not in asking]

    # --- the change that brought the fault ---------------------------------------------------------------------------

    def _introduced(self, fix: Change, parts: Parts, change: str) -> Proposal | Rejection:
        """Return the change whose lines the fix removes as a pull request, with the fix carried back as reference."""
        repository, reason = self.repository, "the change that brought the fault is not known"
        texts = {path: repository.read(fix.parent, path) or "" for path in parts.sources}
        removed = {
            file.old: sorted(set(file.removed) - code_parts.of(file.old).idle_lines(texts[file.old]))
            for file in diffs.parse(change)
            if file.old in texts
        }
        blamed = [
            line
            for path, lines in removed.items()
            if lines
            for line in repository.blame(fix.parent, path, lines)
            if line.text.strip()
        ]
        steps = Counter(filter(None, (self._step_of(line.commit) for line in blamed)))
        if not steps:
            return Rejection(reason=reason, detail="the fix removes no line that a change wrote")
        newest = min(steps, key=self._places.__getitem__)  # the lines that others wrote are there too
        if 2 * steps[newest] < len(blamed):
            return Rejection(reason=reason, detail=f"{len(steps)} changes wrote the lines that the fix removes")
        brought = self.repository.line[self._places[newest]]
        if why := self._unfit(brought):
            return Rejection(reason=reason, detail=f"{brought.commit[:10]}: {why}")
        try:
            mended = repository.merge(change, brought.tree)
        except DiffRejected as error:
            return Rejection(reason=reason, detail=f"the fix cannot be carried back to {brought.commit[:10]}: {error}")
        reference = repository.diff(brought.tree, mended)
        if not reference:
            return Rejection(reason=reason, detail=f"the fix changes nothing at {brought.commit[:10]}")
        witnesses = self._witnesses(fix, parts, brought.tree, apart=True)
        data = self._data(fix, parts)
        base, head, mended = (
            repository.with_files(tree, data) if data else tree
            for tree in (repository.tree(brought.parent), brought.tree, mended)
        )
        return self._proposal(Method.INTRODUCED, fix, brought, base=base, head=head, mended=mended, witnesses=witnesses)

    def _data(self, fix: Change, parts: Parts) -> dict[str, str]:
        """Return the texts of files that a fix added for its tests to read, by path."""
        added = [path for path in parts.data if self.repository.changed[self._places[fix.commit]][path] == "A"]
        return {path: text for path in added if (text := self.repository.read(fix.tree, path)) is not None}

    def _step_of(self, commit: str) -> str | None:
        """Return the step of the main line that brought a commit."""
        if commit in self._places:
            return commit
        first, last = 0, len(self.repository.line)
        while first < last:  # the steps that have the commit come before those that have it not
            middle = (first + last) // 2
            if self.repository.is_ancestor(commit, self.repository.line[middle].commit):
                first = middle + 1
            else:
                last = middle
        return self.repository.line[first - 1].commit if 0 < first < len(self.repository.line) else None

    # --- a later change with the fix taken back -----------------------------------------------------------------------

    def _reversed(self, fix: Change, parts: Parts, _change: str) -> Proposal | Rejection:
        """Return a later change of the fix's files as a pull request that takes the fix back."""
        reason = "no later change of its files takes the fix back"
        back = self.repository.diff(fix.commit, fix.parent, parts.sources)
        found: list[tuple[int, int, Change, str]] = []
        later = [at for at in range(self._places[fix.commit] - 1, -1, -1) if self._shares(at, parts)][:_LOOKED_AT]
        for at in later:
            innocent = self.repository.line[at]
            if self._unfit(innocent) or self._tells(innocent, fix):
                continue
            try:
                faulty = self.repository.merge(back, innocent.tree)
            except DiffRejected:
                continue
            if faulty == innocent.tree:
                continue
            found.append((self._distance(innocent, faulty), len(found), innocent, faulty))
            if found[-1][0] <= _NEAR or len(found) == _TRIED:
                break
        if not found:
            return Rejection(reason=reason, detail=f"{len(later)} were looked at")
        _, _, innocent, faulty = min(found, key=lambda one: one[:2])
        base, head, mended = (
            self._without_words(tree, fix, parts)
            for tree in (self.repository.tree(innocent.parent), faulty, innocent.tree)
        )
        witnesses = self._witnesses(fix, parts, innocent.tree, apart=False)
        return self._proposal(Method.REVERSED, fix, innocent, base=base, head=head, mended=mended, witnesses=witnesses)

    def _shares(self, at: int, parts: Parts) -> bool:
        return any(self.repository.changed[at].get(path) == "M" for path in parts.sources)

    def _distance(self, innocent: Change, faulty: str) -> int:
        """Return how many lines lie between what a change does to a file and what is taken back in it."""
        own = diffs.changed_lines(self.repository.diff(innocent.parent, innocent.commit))
        taken = diffs.shown_lines(self.repository.diff(faulty, innocent.tree))
        apart = [abs(one - other) for path, lines in taken.items() for one in own.get(path, ()) for other in lines]
        return min(apart, default=10_000)

    def _tells(self, innocent: Change, fix: Change) -> bool:
        """Return whether a change speaks of the fix: by its number, its commit, or in its words."""
        said = "\n".join([innocent.message, *innocent.brought]).lower()
        subject = subject_of(fix).lower()
        numbered = fix.number is not None and f"#{fix.number}" in said
        return numbered or fix.commit[:8] in said or (len(subject) > 12 and subject in said)

    def _without_words(self, tree: str, fix: Change, parts: Parts) -> str:
        """Return a tree without the lines that a fix added to texts, and without its comments: they tell of it.

        What its tests read stays.
        """
        texts: dict[str, str | None] = {}
        for path in (*parts.others, *parts.sources):
            told, now = self.repository.read(fix.tree, path), self.repository.read(tree, path)
            if told is None or now is None:
                continue
            if self.repository.read(fix.parent, path) is None:
                texts |= {path: None} if now == told else {}
                continue
            added = diffs.changed_lines(self.repository.diff(fix.parent, fix.commit, [path])).get(path, set())
            lines, there = whole_lines(told), whole_lines(now)
            added &= code_parts.of(path).comment_lines(told) if path in parts.sources else added
            own = {lines[number - 1] for number in added}
            if path not in parts.sources:
                own = {line for line in own if not line.startswith("#")}  # headings, which others share
            often = Counter(there)
            left = "".join(line for line in there if line not in own or often[line] > 1)
            texts |= {path: left} if left != now else {}
        return self.repository.with_files(tree, texts) if texts else tree

    # --- shared -------------------------------------------------------------------------------------------------------

    def _unfit(self, change: Change) -> str | None:
        """Return why a change is no pull request that one would review; None if it is."""
        changed = self.repository.changed[self._places[change.commit]]
        if not change.texts[0]:
            return "nothing says what it does"
        if OF_BRANCHES.match(change.texts[0]):
            return "it is a revert or a merge of branches"
        if _changes_form(change.texts[0], changed):
            return "it changes the form of the code alone"
        if len(changed) > _MOST_FILES:
            return f"it changes {len(changed)} files"
        if not any(of_file(path) and not is_test(path) for path in changed):
            return "it changes no source"
        lines = sum(diffs.counts(self.repository.diff(change.parent, change.commit)))
        return None if _SMALLEST <= lines <= _LARGEST else f"it changes {lines} lines"

    def _witnesses(self, fix: Change, parts: Parts, tree: str, *, apart: bool) -> dict[str, str]:
        """Return the tests that the fix added or changed, in their files, as they may run in a tree.

        ``apart``: they are as the fix has them, with what they need of their files and nothing else, which may need
        what the tree has not yet; else as the tree has them. Files conftest.py are the tree's. Raises ValueError.
        """
        found: dict[str, str] = {}
        for path in parts.tests:
            names = self._own_tests(fix, parts, path)
            text, own = self.repository.read(fix.tree, path), self.repository.read(tree, path)
            if text is None or not names:
                continue
            reader = code_parts.of(path)
            if apart:
                text = text if of_file(path) is DEFAULT else self._carried(fix, path, tree)
                found[path] = reader.alone(text, names)
                continue
            there = {one.name for one in reader.tests_of(own)} if own else set()
            use = own if own and set(names) <= there else text
            found[path] = reader.without(use, {one.name for one in reader.tests_of(use)} - set(names))
        read = self.repository.read
        return found | conftests_for(found, lambda name: read(tree, name) or read(fix.tree, name))

    def _carried(self, fix: Change, path: str, tree: str) -> str:
        """Return a file of tests of a tree with what a fix did to it: it may need others of the tree's tests.

        Raises ValueError.
        """
        try:
            carried = self.repository.merge(self.repository.diff(fix.parent, fix.commit, [path]), tree)
        except DiffRejected as error:
            raise ValueError(f"its tests in {path} cannot be carried back: {error}") from error
        return self.repository.read(carried, path) or ""

    def _proposal(
        self,
        method: Method,
        fix: Change,
        change: Change,
        *,
        base: str,
        head: str,
        mended: str,
        witnesses: Mapping[str, str],
    ) -> Proposal:
        repository = self.repository
        shown = repository.diff(base, head)
        return propose(
            repository,
            self.url,
            change,
            method=method,
            before=repository.diff(change.parent, base),
            head=shown,
            reference=repository.diff(head, mended),
            remark=remark_on(repository, head, mended, shown, fix),
            operator=method.value,
            witnesses=witnesses,
            facts={"change": change.commit, FIXED_ON: fix.day},
        )


def mends(change: Change, changed: Iterable[str]) -> bool:
    """Return whether a change of these files says that it mends something."""
    title, body = change.texts
    return (
        bool(_MENDS.search(f"{title}\n{_LISTED.sub('', body)}"))
        and not OF_BRANCHES.match(title)
        and not _changes_form(title, changed)
        and not _ADDS.search(title)
    )


def _changes_form(title: str, changed: Iterable[str]) -> bool:
    """Return whether a title speaks of the form of code, or of formatters and linters of the files that are changed."""
    forms = {owner.names.form for owner in map(of_file, changed) if owner is not None}
    return bool(_OTHER.search(title)) or any(
        re.search(rf"\b(?:{form})\b", title, re.IGNORECASE) for form in forms if form
    )


def parts_of(changed: Mapping[str, str]) -> Parts | None:
    """Return the files of a change by what they are; None if it is none that mends source and has tests of it."""
    named = [path for path in changed if may_have_tests(path) and changed[path] in "AM"]
    often = Counter(filter(None, map(of_file, named)))
    owner = often.most_common(1)[0][0] if often else None
    own = [path for path in changed if of_file(path) is owner and grammar_of(path) is not None]
    tests = tuple(path for path in own if is_test(path) and changed[path] in "AM")
    sources = tuple(
        path
        for path in own
        if not is_test(path) and not is_documentation(path) and PurePosixPath(path).name not in pytest_files.SCRIPTS
    )
    if not named or not 0 < len(sources) <= _MOST_SOURCES or any(changed[path] != "M" for path in sources):
        return None
    others = [path for path in changed if path not in (*tests, *sources)]
    data = tuple(path for path in others if is_test(path) and not may_have_tests(path) and not is_documentation(path))
    return Parts(sources=sources, tests=tests, data=data, others=tuple(path for path in others if path not in data))


def only_words(repository: Repository, fix: Change, sources: Sequence[str]) -> bool:
    """Return whether a fix leaves all code as it is, by ``same_code``."""

    def text(tree: str, path: str) -> bytes:
        return (repository.read(tree, path) or "").encode()

    return all(same_code(path, text(fix.parent, path), text(fix.tree, path)) for path in sources)


def subject_of(fix: Change) -> str:
    """Return the subject of a fix without the marks around it."""
    subject = fix.texts[0]
    plain = _PREFIX.sub("", subject).strip()
    plain = _NUMBERED.sub("", plain).strip() or plain
    return (plain or subject).rstrip(".")


def words_on(fix: Change) -> str:
    """Return the first paragraph of a fix's description where it says something of the fault, else nothing."""
    told = fix.texts[1].strip().split("\n\n")[0].strip()
    says = told and not _NO_WORDS.match(told) and len(told) < _LONGEST_WORDS and told != fix.texts[0]
    return re.sub(r":$", ".", told) if says else ""


def fault_in(subject: str) -> str:
    """Return the words on a fault that the subject of its fix gives: what was wrong, or what should be."""
    if _SAYS_NOTHING.fullmatch(subject):
        return "does not do what it should here."
    fixed = _FIX.match(subject)
    return (
        f"has a fault here. Fix {subject[fixed.end() :]}." if fixed else f"does not do what it should here: {subject}."
    )


def remark_on(repository: Repository, head: str, mended: str, shown: str, fix: Change) -> Remark:
    """Return the comment on what mends a tree: where it stands in the pull request, and what should hold."""
    path, lines = place_of(repository, head, mended, shown)
    text = repository.read(head, path) or ""
    often = Counter(code_parts.of(path).function_at(text, line) for line in range(lines[0], lines[1] + 1))
    ((within, _),) = often.most_common(1)
    where = f"`{within}` in `{path}`" if within else f"`{path}`"
    body = f"{where} {fault_in(subject_of(fix))}"
    told = words_on(fix)
    body += f"\n\n{told}" if told else ""
    return Remark(path=path, lines=lines, body=body)


def place_of(repository: Repository, head: str, mended: str, shown: str) -> tuple[str, tuple[int, int]]:
    """Return file and lines of a tree that another one mends, in the lines that a pull request shows if it can.

    Of several places it is the one with most changed code; comments and docstrings count where nothing else changed. A
    place at which lines are only added is the line before them. Raises ValueError where there is none.
    """
    in_view = diffs.shown_lines(shown)
    places: list[tuple[bool, bool, int, str, tuple[int, int]]] = []
    for file, hunks in diffs.parse_hunks(repository.diff(head, mended)):
        path = file.old or ""
        old, new = (code_parts.of(path).idle_lines(repository.read(tree, path) or "") for tree in (head, mended))
        for hunk in hunks:
            removed = [line.old for line in hunk.lines if line.mark == "-" and line.old is not None]
            code = [line for line in removed if line not in old]
            added = sum(line.mark == "+" and line.new not in new for line in hunk.lines)
            at = code or _before_added(hunk, new if added else frozenset()) or removed
            span = (max(1, min(at)), max(1, *at))
            seen = not in_view.get(path, set()).isdisjoint(range(span[0], span[1] + 1))
            places.append((bool(code or added), seen, len(code) + added, path, span))
    if not places:
        raise ValueError("the reference changes nothing that has lines")
    _, _, _, path, span = max(places, key=lambda one: one[:3])
    return path, span


def _before_added(hunk: diffs.Hunk, words: Collection[int]) -> list[int]:
    """Return the line before the first one that is added and is none of these."""
    last = hunk.old_start
    for line in hunk.lines:
        if line.mark == "+" and line.new not in words:
            return [last]
        last = line.old or last
    return []
