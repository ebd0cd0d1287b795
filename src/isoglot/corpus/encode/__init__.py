"""Corpora tokenised once for one tokenizer: streams."""
