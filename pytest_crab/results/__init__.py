"""Records to numbers: summaries, comparisons, rates and the files that hold them. It runs nothing."""
