"""Trials on a Dask cluster (extra ``cluster``); the only place that knows dask, imported when an address is named."""
