"""``python -m jaxlite``: the same as the ``jaxlite`` command."""

import sys

from jaxlite.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
