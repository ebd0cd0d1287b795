"""Studies: every table and figure of the papers as a program."""
