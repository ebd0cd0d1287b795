"""Derived languages: copies of a language that differ in script, word order or syntax alone."""
