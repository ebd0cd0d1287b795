"""Readers: raw files of any format as rows of a corpus."""
