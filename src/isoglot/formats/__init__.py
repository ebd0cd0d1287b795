"""Formats: one reader and one writer of each, of sentence pairs, text, word links and labels."""
