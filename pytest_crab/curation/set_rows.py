"""A set as rows that can be handed on, JSON Lines or Parquet with a dataset card, and the set of such rows again."""

from __future__ import annotations

import base64
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_crab.curation.publish import CONTAMINATION, CUTOFF, SEEN_BY, SEEN_FROM
from pytest_crab.curation.set_statistics import SizedInstance, count_changed_lines, error_lines, statistics_lines
from pytest_crab.diffs import is_inside
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_names
from pytest_crab.instances import FILE, load_instance, lock
from pytest_crab.instances.files import EXECUTABLE, LINK, pristine
from pytest_crab.instances.oracle_errors import errors_of
from pytest_crab.types import Instance

#: The files of a set that is handed on: its rows in either form, those of the set itself, and the card.
ROWS, PARQUET, SET, CARD = "instances.jsonl", "instances.parquet", "set.json", "README.md"

#: The columns of a row, in their order; those that are no plain values are JSON texts in Parquet.
COLUMNS = ("id", "repo", "language", "license", "provenance", "merged_at", "title", "body", "comments", "tags", "files")
_NESTED = ("comments", "tags", "files")

#: The dimensions of labels that say how hard a comment is: curate's, and those of injected faults.
_HARD = ("difficulty", SEEN_BY, SEEN_FROM)


def export_set(place: Path, instances: Sequence[Instance], out: Path, *, parquet: bool) -> None:
    """Write the instances of the set in ``place`` into the new folder ``out``.

    Raises BadInput, also for an instance whose code is a folder of the set, ImportError, OSError.
    """
    whole = [one.id for one in instances if one.source.tree is not None]
    if whole or not instances:
        problem = f"the code of {whole[0]} lies in the set; hand on the folder" if whole else "it holds no instance"
        raise BadInput(str(place), [problem])
    if parquet:
        import pyarrow  # noqa: F401 - before anything is written
    out.mkdir(parents=True)
    try:
        rows = [_row(one) for one in instances]
        if parquet:
            _write_parquet(out / PARQUET, rows)
        else:
            (out / ROWS).write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
        beside = [
            path for path in sorted(place.iterdir()) if path.is_file() and path.suffix in (".json", ".lock", ".md")
        ]
        texts = {path.name: path.read_text("utf-8") for path in beside if path.name != "funnel.json"}
        (out / SET).write_text(json.dumps(texts, indent=1, ensure_ascii=False) + "\n", "utf-8")
        (out / CARD).write_text("\n".join(_card(place, instances)) + "\n", "utf-8")
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise


def _row(instance: Instance) -> dict[str, Any]:
    facts = instance.pull_request
    comments = [
        {
            "id": one.id,
            "path": one.path,
            "body": one.body,
            "category": None if one.category is None else str(one.category),
            "kind": None if one.kind is None else str(one.kind),
            "oracle": one.oracle is not None,
            "labels": dict(one.labels),
        }
        for one in instance.comments
    ]
    values: dict[str, Any] = {
        "id": instance.id,
        "repo": instance.repo,
        "language": instance.language,
        "license": instance.license,
        "provenance": str(instance.provenance),
        "merged_at": facts.merged_at,
        "title": facts.title,
        "body": facts.body,
        "comments": comments,
        "tags": dict(instance.tags),
        "files": list(_files(Path(instance.folder))),
    }
    return {name: values[name] for name in COLUMNS}


def _files(folder: Path) -> Iterator[dict[str, Any]]:
    for entry in pristine(folder):
        if entry.mode == LINK:
            raise BadInput(str(folder / entry.path), ["it is a link, which no row can hold; put a file in its place"])
        content = (folder / entry.path).read_bytes()
        try:
            held = {"text": content.decode("utf-8")}
        except UnicodeDecodeError:
            held = {"base64": base64.b64encode(content).decode()}
        yield {"path": entry.path, **held, **({"executable": True} if entry.mode == EXECUTABLE else {})}


def _write_parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import pyarrow
    from pyarrow import parquet

    def cell(name: str, value: Any) -> Any:
        return json.dumps(value, ensure_ascii=False) if name in _NESTED else value

    columns = {name: pyarrow.array([cell(name, row[name]) for row in rows], pyarrow.string()) for name in COLUMNS}
    parquet.write_table(pyarrow.table(columns), path)


def _card(place: Path, instances: Sequence[Instance]) -> Iterator[str]:
    """Yield the lines of a dataset card: what is in it, under which licences, and how far it can be trusted."""
    licences = Counter(one.license for one in instances)
    yield from ("---", "license: other", "language: en", f"size_categories: {_size(len(instances))}", "---", "")
    yield from (
        f"# {place.name}",
        "",
        "Pull requests with review comments, and a test of each: an oracle.",
        "",
        "## What is in it",
        "",
    )
    sized = [SizedInstance(instance=one, changed=count_changed_lines(one)) for one in instances]
    yield from (f"- {line}" for line in statistics_lines(sized))
    yield from (
        "",
        "## Licences",
        "",
        "Texts of a project stand under its licence; the code is fetched from the project.",
        "",
    )
    yield from (f"- {name}: {format_count(count, 'instance')}" for name, count in sorted(licences.items()))
    yield from ("", "## Error rates of its oracles", "")
    errors = [error for one in instances for error in errors_of(one).values()]
    count = sum(len(one.with_oracles) for one in instances)
    yield from [f"- {line}" for line in error_lines(errors, count)] or ["Nothing was measured."]
    yield from ("", "## Training cut-offs", "")
    yield from list(_cutoffs(instances)) or ["No model's cut-off is named; see the days of the merges above."]
    yield from ("", "## Difficulty", "")
    hard = {name: told for name in _HARD if (told := _count_labels(instances, name))}
    yield from [f"- {name}: {told}" for name, told in hard.items()] or ["Nothing says how hard it is."]
    yield from ("", "## Read it", "", "    pytest-crab set import FOLDER --out SET", "    pytest-crab set check SET")


def _cutoffs(instances: Sequence[Instance]) -> Iterator[str]:
    """Yield a line for each model whose training cut-off is named, with the day."""
    labels = sorted({name for one in instances for comment in one.comments for name in comment.labels})
    for name in labels:
        if name.startswith(CONTAMINATION):
            model = name.removeprefix(CONTAMINATION)
            days = format_names(
                sorted({one.tags[CUTOFF + model] for one in instances if CUTOFF + model in one.tags}), 3
            )
            yield f"- {model}{f', {days}' if days else ''}: {_count_labels(instances, name)}"


def _count_labels(instances: Sequence[Instance], name: str) -> str:
    """Return how many comments have each label of a dimension; empty where none has one."""
    found = Counter(one.labels[name] for each in instances for one in each.comments if name in one.labels)
    return ", ".join(f"{format_count(count, 'comment')} {label}" for label, count in sorted(found.items()))


def _size(count: int) -> str:
    return "n<1K" if count < 1_000 else "1K<n<10K" if count < 10_000 else "10K<n<100K"


def import_set(folder: Path, out: Path) -> int:
    """Make the new set ``out`` of a folder that was exported; return the number of instances.

    Nothing of it is run. Raises BadInput, and leaves nothing then; ImportError for Parquet without pyarrow.
    """
    rows = list(_rows(folder))
    if out.exists():
        raise BadInput(str(out), ["it is there already; name another --out"])
    aside = out.absolute().with_name(f".{out.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        for row in rows:
            for file in row["files"]:
                _put(aside / _plain(str(row["id"])), file)
            load_instance(aside / row["id"] / FILE)
        for name, text in json.loads((folder / SET).read_text("utf-8")).items():
            _put(aside, {"path": _plain(name), "text": text})
        if (aside / lock.FILE).exists():
            lock.keep_line_ends(aside)
        aside.rename(out)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(str(folder), [f"it is no set that was exported ({type(error).__name__}: {error})"]) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return len(rows)


def _rows(folder: Path) -> Iterator[Any]:
    try:
        if (folder / PARQUET).is_file():
            from pyarrow import parquet

            for row in parquet.read_table(folder / PARQUET).to_pylist():
                yield {**row, "files": json.loads(row["files"])}
            return
        lines = (folder / ROWS).read_text("utf-8").split("\n")
        yield from (json.loads(line) for line in lines if line)
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise BadInput(str(folder), [f"it has no {ROWS} and no {PARQUET} that can be read ({error})"]) from None


def _plain(name: str) -> str:
    """Return a name that is one part of a path. Raises ValueError."""
    if not name or "/" in name or name.startswith("."):
        raise ValueError(f"{name!r} is no name of a file")
    return name


def _put(folder: Path, file: Mapping[str, Any]) -> None:
    """Write a file of a row below a folder. Raises ValueError for a path that leads out of it."""
    if not is_inside(file["path"]):
        raise ValueError(f"{file['path']!r} leads out of the set")
    path = folder / file["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file["text"].encode() if "text" in file else base64.b64decode(file["base64"]))
    if file.get("executable"):
        path.chmod(0o755)
