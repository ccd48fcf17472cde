"""Modules that are sent into sandboxes as text; they import the standard library only."""
