"""The command line as ``python -m sepc``."""

import sys

from sepc.cli import main

if __name__ == "__main__":
    sys.exit(main())
