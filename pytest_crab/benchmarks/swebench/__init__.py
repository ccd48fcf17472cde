"""SWE-bench: its rows as candidates."""
