"""What the trials come to: numbers, terminal text and files. Pure work on records."""
