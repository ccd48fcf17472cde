"""Read access and application logs."""

from logparse.access import parse_access_line
from logparse.applog import parse_app_line
from logparse.reader import read_lines, read_records
from logparse.records import AccessRecord, AppRecord, ParseError
from logparse.stats import count_by, error_rate, top

__all__ = [
    "AccessRecord",
    "AppRecord",
    "ParseError",
    "count_by",
    "error_rate",
    "parse_access_line",
    "parse_app_line",
    "read_lines",
    "read_records",
    "top",
]
