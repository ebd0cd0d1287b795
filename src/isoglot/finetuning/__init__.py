"""Fine-tuning, evaluation and transfer of a pre-trained checkpoint."""
