"""The papers' tables and figures, and the demo: programs that import `isoglot` and `isoglot.studies` alone."""
