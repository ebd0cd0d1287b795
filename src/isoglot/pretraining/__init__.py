"""Pre-training: from a recipe to a checkpoint."""
