"""Languages derived from others: another script, word order or syntax."""
