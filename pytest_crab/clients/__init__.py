"""The real clients of models: where they lie, how they are started, and what their outputs mean."""
