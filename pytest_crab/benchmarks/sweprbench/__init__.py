"""SWE-PRBench: its release, its judge, its measures and tables."""
