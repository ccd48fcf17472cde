"""The published benchmarks, a folder each: reader, rule, judge, tables and command."""
