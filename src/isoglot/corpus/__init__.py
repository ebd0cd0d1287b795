"""Corpora: raw files to plain data sets with a named schema, and those to encoded streams."""
