"""PMD with those of its rules that name a likely fault."""

from __future__ import annotations

from pytest_crab.ecosystems.linters import Linter, needs

#: What only asks for another layout, other names or more comments is left out.
_RULES = ",".join(f"category/java/{one}.xml" for one in ("errorprone", "multithreading", "performance", "security"))

_SCRIPT = f"""\
{needs("java")}list=$(mktemp)
printf '%s\\n' "$@" > "$list"
exec java -cp "${{0%/bin/pmd}}/conf:${{0%/bin/pmd}}/lib/*" net.sourceforge.pmd.cli.PmdCli check --format sarif \\
    --rulesets {_RULES} --no-cache --no-progress --no-fail-on-violation --file-list "$list"
"""

LINTER = Linter(
    program="pmd", script=_SCRIPT, above=2, format="sarif", exit_codes=(0,),
    source="unpack PMD's binary release, and put its bin on PATH",
)  # fmt: skip
