"""Labels carried over word links: a labelled text and its translation in, the translation with the labels out."""
