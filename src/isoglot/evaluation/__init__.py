"""Measuring checkpoints on tasks: encoders as they are, and fine-tuned models."""
