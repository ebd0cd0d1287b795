"""WEAM's cross-lingual prediction: each masked word is predicted from the state of its translation."""

from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError
from isoglot.losses.base import Loss, LossOutput, require_axes
from isoglot.modules.encoder import hidden_size
from isoglot.modules.masked_lm_head import literal_transform, masked_lm_head
from isoglot.modules.shared_table import SharedTable
from isoglot.modules.vocabulary_loss import vocabulary_loss


@dataclass(eq=False, repr=False)
class WordExchange(Loss):
    """Predict a masked token from the encoder's states at the tokens linked to it in the other language.

    Equation: ``L = −(1/|M|) Σ_{i ∈ M} log softmax(linear(GELU(W₃ (W₂ (Aᵀ H)_i + b₂) + b₃))·e)[w_i]``, with M the masked
    tokens, A the links as a symmetric 0/1 matrix, e the tied embeddings

    In the paper's steps: ``H' = Aᵀ H`` (Eq. 5), ``H̃ = W₂ H' + b₂`` (Eq. 6), ``H̃' = GELU(W₃ H̃ + b₃)`` (Eq. 7),
    ``softmax(linear(H̃')·e)`` (Eq. 8). Tokens of M without a link are left out of the sum, unless ``unaligned:
    literal``. A is never built: only the rows at masked positions are gathered, at a cost of (links × hidden).

    Eq. 9 and 10 are sums over the M masked tokens. Here both are divided by M, which scales the gradient and leaves λ
    the weight of one sum beside the other. Divided by the tokens that have a link instead (about 60 % of M on the
    paper's corpora), λ = 1 weighs as much as 1.7 does in the paper.

    Args:
        model: encoder with its masked-LM head, which is copied; it is looked at, not kept.
        unaligned: ``exclude`` masked tokens without a link from the loss, or predict them from the biases alone
            (``literal``: Eq. 10 sums over all masked positions, and ``A``'s zero rows give zero states); then nothing
            but ``divide_by: masked`` makes sense.
        divide_by: what the sum is divided by: all ``masked`` tokens, which keeps Eq. 11's λ, or the ``linked``
            ones that are in it.
        many: what several links of one token do: ``sum`` (Eq. 5 to the letter), ``mean``, or ``one_to_one``: links of
            a position that has several are left out.
        head: ``bert``: the model's own head, copied (dense, activation, LayerNorm, tied decoder, bias); ``literal``:
            dense, GELU, linear, tied decoder without bias, a copy of that of a
            :class:`~isoglot.objectives.masked_lm.MaskedLMObjective` with ``head: literal``. Both start as the
            multilingual prediction does.
        share_linear: use the same ``linear`` as the multilingual prediction. The paper writes both with one symbol.
            With ``literal`` it is that of a :class:`~isoglot.objectives.masked_lm.MaskedLMObjective` with ``head:
            literal`` (without one nothing shares it); with ``bert`` the LayerNorm of the model's own head stands in
            its place.
        init: ``identity`` starts ``W₂`` as "swap and predict"; ``normal`` as any BERT layer.

    **Metrics**: ``accuracy`` of the tokens in the sum; ``aligned``, the share of masked tokens that have a link.

    Source: Yang et al. 2021, *Bilingual Alignment Pre-Training for Zero-Shot Cross-Lingual Transfer*, Eq. 5-10.

    Example:
        >>> from isoglot.testing import tiny_model
        >>> model = tiny_model()
        >>> exchange_loss = WordExchange(model)
        >>> optimizer = torch.optim.AdamW([*model.parameters(), *exchange_loss.parameters()], lr=1e-3)
        >>> ids = torch.tensor([[2, 4, 11, 3, 21, 22, 3]])  # [CLS] [MASK] b [SEP] x y [SEP]
        >>> labels = torch.tensor([[-100, 10, -100, -100, -100, -100, -100]])
        >>> links = torch.tensor([[[1, 4], [2, 5]]])
        >>> for _ in range(2):
        ...     hidden = model.base_model(input_ids=ids).last_hidden_state
        ...     loss = exchange_loss(hidden, links, labels, model.get_output_embeddings().weight)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    unaligned: Literal["exclude", "literal"] = "exclude"
    divide_by: Literal["masked", "linked"] = "masked"
    many: Literal["sum", "mean", "one_to_one"] = "mean"
    head: Literal["bert", "literal"] = "bert"
    share_linear: bool = False
    init: Literal["identity", "normal"] = "identity"

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()
        size = hidden_size(model)
        self.exchange_dense = nn.Linear(size, size)
        if self.init == "identity":
            nn.init.eye_(self.exchange_dense.weight)
        else:
            nn.init.normal_(self.exchange_dense.weight, std=getattr(model.config, "initializer_range", 0.02))
        nn.init.zeros_(self.exchange_dense.bias)
        own = masked_lm_head(model)
        self.bias: nn.Parameter | None = None
        if self.head == "literal":
            self.transform: nn.Module = literal_transform(model).copy(share_linear=self.share_linear)
        else:
            self.transform = own.copy(share_norm=self.share_linear)
            if own.bias is not None:
                self.bias = nn.Parameter(own.bias.detach().clone())

    def check_options(self) -> None:
        """A sum over all masked tokens is not divided by the linked ones."""
        if self.unaligned == "literal" and self.divide_by == "linked":
            raise ConfigurationError(
                "word_exchange: unaligned=literal sums over all masked tokens, so divide_by=linked has no meaning; "
                "write divide_by: masked"
            )

    def measure(
        self, hidden: Tensor, links: Tensor, labels: Tensor, table: Tensor | SharedTable
    ) -> LossOutput:
        """Summed cross-entropy over the masked tokens that have a translation.

        Args:
            hidden: states of the masked pair.
            links: positions of linked pieces [source, target]; −1 pads.
            labels: ids of the masked tokens, negative elsewhere.
            table: the output embeddings.

        **Shape**: hidden (batch, length, hidden); links (batch, links, 2); labels (batch, length); table (V, hidden).
        """
        require_axes(
            hidden=(hidden, "batch length hidden"),
            links=(links, "batch links 2"),
            labels=(labels, "batch length"),
        )
        masked = labels >= 0
        states, position = exchange(
            hidden, links, masked, many=self.many, keep_unaligned=self.unaligned == "literal"
        )
        states = self.transform(self.exchange_dense(states))
        total, correct = vocabulary_loss(states, labels.flatten()[position], table, self.bias)
        metrics = {
            "accuracy": correct.detach().float() / max(1, position.numel()),
            "aligned": self.linked(links, masked) / masked.sum().clamp(min=1),
        }
        count = masked.sum() if self.divide_by == "masked" else torch.as_tensor(position.numel())
        items: dict[str, Tensor | int] = {"accuracy": position.numel(), "aligned": masked.sum()}
        return LossOutput(total, count.to(total.device), metrics, items)

    def linked(self, links: Tensor, masked: Tensor) -> Tensor:
        """How many masked tokens have a link."""
        position, _ = _edges(links, masked, one_to_one=self.many == "one_to_one")
        return torch.tensor(torch.unique(position).numel(), device=masked.device)


def exchange(
    hidden: Tensor,
    links: Tensor,
    masked: Tensor,
    *,
    many: str = "mean",
    keep_unaligned: bool = False,
) -> tuple[Tensor, Tensor]:
    """The rows of ``Aᵀ H`` at the masked positions, and their indices into the flattened positions, ascending.

    ``keep_unaligned``: give masked positions without a link a row of zeros instead of leaving them out.

    **Shape**: hidden (batch, length, hidden); links (batch, links, 2), −1 pads; masked (batch, length).
    """
    position, origin = _edges(links, masked, one_to_one=many == "one_to_one")
    flat = hidden.reshape(-1, hidden.size(-1))
    if keep_unaligned:
        items = masked.flatten().nonzero().squeeze(1)
        row = torch.searchsorted(items, position)
    else:
        items, row = torch.unique(position, return_inverse=True)
    states = flat.new_zeros(items.numel(), flat.size(1)).index_add(0, row, flat[origin])
    if many == "mean":
        degree = torch.bincount(row, minlength=items.numel()).clamp(min=1)
        states = states / degree.unsqueeze(1).to(states.dtype)
    return states, items


def _edges(links: Tensor, masked: Tensor, *, one_to_one: bool) -> tuple[Tensor, Tensor]:
    """(masked position, position it is predicted from), flattened over the batch, each edge once."""
    length = masked.size(1)
    valid = (links >= 0).all(dim=-1)
    if bool((links >= length).any()):  # it would be a position of the next row
        raise ConfigurationError(f"links: position {int(links.max())}, but the inputs have {length} tokens")
    offset = torch.arange(links.size(0), device=links.device).unsqueeze(1) * length
    first = (links[..., 0] + offset)[valid]
    second = (links[..., 1] + offset)[valid]
    # A is 0/1, so a link that stands twice counts once.
    key = torch.unique(first * masked.numel() + second)
    first, second = key // masked.numel(), key % masked.numel()
    if one_to_one:
        degree = torch.bincount(torch.cat([first, second]), minlength=masked.numel())
        single = (degree[first] == 1) & (degree[second] == 1)
        first, second = first[single], second[single]
    position, origin = torch.cat([first, second]), torch.cat([second, first])
    chosen = masked.flatten()[position]
    return position[chosen], origin[chosen]
