"""Everything that is sent into a sandbox: stdlib only, from CPython 3.6 up, never imported by the host."""
