"""Martian's code review benchmark and BC-Bench's code review runs: recorded judgements."""
