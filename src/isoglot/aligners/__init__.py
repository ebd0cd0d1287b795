"""Word aligners: embedding-based and statistical, symmetrisation, formats and scores."""
