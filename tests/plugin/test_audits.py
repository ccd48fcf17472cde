"""A run says which oracles of its sets have no audit on record, and runs none."""

from __future__ import annotations

from typing import Any

from pytest_crab.instances import load_instances, lock

LINE = "crab: instances: 1 oracle not audited since the last change; pytest-crab set check --audit instances *"


def test_a_run_says_that_audits_are_missing_until_the_lock_records_them(bare: Any) -> None:
    folder = bare.path / "instances"
    path = folder / "shop-1" / "instance.yaml"
    audited = "    reference: reference/c0.diff\n    accepts: [reference.diff]\n"
    path.write_text(path.read_text().replace("    reference: reference/c0.diff\n", audited))
    bare.run("--reviewer=human", "--crab-plan", "instances").stdout.fnmatch_lines([LINE])
    lock.write_lock(folder, load_instances(folder))
    bare.run("--reviewer=human", "--crab-plan", "instances").stdout.fnmatch_lines([LINE])
    for instance in load_instances(folder):
        lock.record_audits(folder, instance, {"c0": True, "c1": True}, {"c0": 4, "c1": 4})
    bare.run("--reviewer=human", "--crab-plan", "instances").stdout.no_fnmatch_line(LINE)


def test_a_damaged_lock_is_named_before_the_run(bare: Any) -> None:
    (bare.path / "instances" / lock.FILE).write_text("{")
    result = bare.run("--reviewer=human", "--crab-plan", "instances/shop-1")
    result.stdout.fnmatch_lines(["crab: *crab.lock*check --lock*"])
