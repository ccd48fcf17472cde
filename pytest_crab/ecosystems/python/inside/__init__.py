"""Scripts that are sent into sandboxes, for an interpreter that the host has not chosen."""
