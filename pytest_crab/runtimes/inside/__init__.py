"""Scripts that run inside sandboxes, on whatever CPython from 3.6 up is there: standard library only, one file each."""
