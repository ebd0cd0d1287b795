"""Word links and sentence pairs in files."""
