"""Strict readers of what contestants print: a wrong shape is named, never guessed at."""
