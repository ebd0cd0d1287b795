"""``python -m isoglot.cli``: the command line, where no script is installed."""

from isoglot.cli import main

if __name__ == "__main__":
    main()
