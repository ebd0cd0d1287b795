"""One function per verb, path to path."""
