"""What the tests of rendering share: the reader of a report's files."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for report_reading
