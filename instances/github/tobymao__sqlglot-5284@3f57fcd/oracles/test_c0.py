"""Databricks uses the shared function for GROUP_CONCAT as it is, and still writes LISTAGG."""

import pytest

import sqlglot
from sqlglot import exp
from sqlglot.dialects import dialect
from sqlglot.dialects.databricks import Databricks


def test_nothing_is_wrapped_around_the_function():
    assert Databricks.Generator.TRANSFORMS[exp.GroupConcat] is dialect.groupconcat_sql


@pytest.mark.parametrize(
    "written, expected",
    [
        ("GROUP_CONCAT(x SEPARATOR z)", "LISTAGG(x, z)"),
        ("GROUP_CONCAT(x ORDER BY y SEPARATOR '-')", "LISTAGG(x, '-') WITHIN GROUP (ORDER BY y)"),
        ("GROUP_CONCAT(DISTINCT x ORDER BY y DESC)", "LISTAGG(DISTINCT x, ',') WITHIN GROUP (ORDER BY y DESC)"),
    ],
)
def test_the_sql_is_still_the_same(written, expected):
    assert sqlglot.transpile(written, read="mysql", write="databricks") == [expected]


@pytest.mark.parametrize(
    "dialect, expected",
    [
        ("sqlite", "GROUP_CONCAT(x, '-')"),
        ("mysql", "GROUP_CONCAT(x SEPARATOR '-')"),
        ("postgres", "STRING_AGG(x, '-')"),
        ("duckdb", "LISTAGG(x, '-')"),
        ("snowflake", "LISTAGG(x, '-')"),
        ("redshift", "LISTAGG(x, '-')"),
        ("bigquery", "STRING_AGG(x, '-')"),
        ("spark", "GROUP_CONCAT(x, '-')"),
    ],
)
def test_other_dialects_are_untouched(dialect, expected):
    assert sqlglot.transpile("GROUP_CONCAT(x SEPARATOR '-')", read="mysql", write=dialect) == [expected]
