"""Other benchmarks' releases: one module per benchmark, and what they share."""
