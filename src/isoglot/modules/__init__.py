"""Parts that know only tensors and encoders: encodings, heads, losses, momentum, queues, pointers."""
