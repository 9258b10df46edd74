"""Runs the command."""

import sys

from sepc.experiments.command import main

if __name__ == "__main__":
    sys.exit(main())
