"""Language embeddings: one learned vector a language, added to the inputs (XLM; Conneau and Lample 2019)."""

import torch
from torch import Tensor, nn

from isoglot.errors import ConfigurationError


def language_embeddings(languages: int, size: int, *, seed: int) -> nn.Embedding:
    """A table of language vectors, normally distributed with the standard deviation 0.02 that encoders use.

    ``size``: the encoder's *embedding* size (``input_embeddings(model).embedding_dim``; hidden size in most
    families).
    """
    table = nn.Embedding(languages, size)
    with torch.no_grad():
        table.weight.normal_(0.0, 0.02, generator=torch.Generator().manual_seed(seed))
    return table


def add_language_embeddings(embedded: Tensor, language_ids: Tensor, table: nn.Embedding) -> Tensor:
    """Input embeddings plus the vector of each position's language: E[x] + L[language(x)].

    ``language_ids``: one id a position, or one a sequence.

    **Shape**: embedded (batch, length, size); language_ids (batch, length) or (batch,); result as embedded.
    """
    if table.embedding_dim != embedded.shape[-1]:
        raise ConfigurationError(
            f"language embeddings of size {table.embedding_dim} given, the encoder's word embeddings have "
            f"size {embedded.shape[-1]}; build the table with language_embeddings(n, {embedded.shape[-1]})"
        )
    if language_ids.dim() == 1:
        language_ids = language_ids[:, None]
    vectors: Tensor = table(language_ids)
    return embedded + vectors.to(embedded.dtype)
