"""Write the builds to a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from .builds import write_all

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m schedules FOLDER")
    write_all(Path(sys.argv[1]))
