"""Training: mixtures, batches, the alignment model and its trainer."""
