"""``python -m logparse``."""

import sys

from logparse.cli import main

if __name__ == "__main__":
    sys.exit(main())
