"""PHP_CodeSniffer with those of its rules that name a likely fault."""

from __future__ import annotations

from pytest_crab.ecosystems.linters import Linter

_RULES = (
    *(f"Generic.CodeAnalysis.{one}" for one in (
        "AssignmentInCondition", "EmptyStatement", "ForLoopWithTestFunctionCall", "JumbledIncrementer",
        "UnconditionalIfStatement", "UnusedFunctionParameter", "UselessOverridingMethod",
    )),
    *(f"Generic.PHP.{one}" for one in ("BacktickOperator", "DeprecatedFunctions", "NoSilencedErrors", "Syntax")),
    *(f"Squiz.PHP.{one}" for one in ("DisallowSizeFunctionsInLoops", "Eval", "NonExecutableCode")),
    "Squiz.Scope.StaticThisUsage",
)  # fmt: skip

LINTER = Linter(
    program="phpcs",
    arguments=("-q", "--no-cache", "--report=checkstyle", "--standard=Generic,Squiz", f"--sniffs={','.join(_RULES)}"),
    readable=("/etc/php",),  # says which extensions are loaded
    format="checkstyle",
    exit_codes=(0, 1, 2),
    stopping=("Generic.PHP.Syntax.PHPSyntax", "Internal.Exception", "Internal.Tokenizer.Exception"),
    source="it is the package php-codesniffer of Debian, squizlabs/php_codesniffer of Composer",
)
