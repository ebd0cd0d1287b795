"""Tasks: load, encode, head, score. One file a kind; languages are data."""
