"""``python -m isoglot.cli``: the command line, where no script is installed."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, where data lie that may be named as modules are
    from isoglot.cli import main

    main()
