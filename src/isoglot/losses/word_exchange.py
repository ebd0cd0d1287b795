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
from isoglot.modules.self_labelling import require_inside
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

    Eq. 9 is the loss of the multilingual prediction, which is masked LM on the pair
    (:class:`~isoglot.objectives.masked_lm.MaskedLMObjective`), Eq. 10 is this loss, and Eq. 11 adds both, this one with
    the weight λ. The paper sums both over M; here both sums are divided by |M|, so λ keeps its meaning. With
    ``divide_by: linked`` the sum of Eq. 10 is divided by the number of masked tokens that have a link, about 60 % of M
    on the paper's corpora; λ = 1 then weighs as much as 1.7 does in the paper.

    Args:
        model: encoder with its masked-LM head, which is copied; the model itself is not kept.
        unaligned: ``exclude`` masked tokens without a link from the loss, or predict them from the biases alone
            (``literal``: Eq. 10 sums over all masked positions, and the zero rows of ``A`` give zero states), which
            needs ``divide_by: masked``.
        divide_by: the number that the sum is divided by: all ``masked`` tokens, which keeps Eq. 11's λ, or the
            ``linked`` ones, which are those in the sum.
        many: the state for a token with several links: their ``sum`` (Eq. 5 to the letter), their ``mean``, or
            ``one_to_one``: links of a position that has several are left out.
        head: ``bert``: a copy of the model's own head (dense, activation, LayerNorm, tied decoder, bias);
            ``literal``: dense, GELU, linear, tied decoder without bias, a copy of the head of a
            :class:`~isoglot.objectives.masked_lm.MaskedLMObjective` with ``head: literal``. With either, this
            prediction starts with the weights of the multilingual prediction (Eq. 3-4).
        share_linear: share the layer behind the GELU with the multilingual prediction instead of copying it; the paper
            has one symbol in the equations of both. With ``head: literal`` the layer is ``linear``, shared with a
            :class:`~isoglot.objectives.masked_lm.MaskedLMObjective` of ``head: literal`` if the run has one. With
            ``head: bert`` it is the LayerNorm, shared with the model's own head.
        init: ``identity`` starts ``W₂`` as the identity, so that training begins with the plain swap ``H'``;
            ``normal`` as any BERT layer.

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
        self.exchange_dense = nn.Linear(size, size)  # Eq. 6
        if self.init == "identity":
            nn.init.eye_(self.exchange_dense.weight)
        else:
            nn.init.normal_(self.exchange_dense.weight, std=getattr(model.config, "initializer_range", 0.02))
        nn.init.zeros_(self.exchange_dense.bias)
        # Eq. 7 and `linear` of Eq. 8: a copy of the head of the multilingual prediction.
        models_head = masked_lm_head(model)
        self.bias: nn.Parameter | None = None
        if self.head == "literal":
            self.transform: nn.Module = literal_transform(model).copy(share_linear=self.share_linear)
        else:
            self.transform = models_head.copied_transform(share_norm=self.share_linear)
            if models_head.bias is not None:
                self.bias = nn.Parameter(models_head.bias.detach().clone())

    def check_options(self) -> None:
        """Refuse to divide a sum over all masked tokens by the linked ones."""
        if self.unaligned == "literal" and self.divide_by == "linked":
            raise ConfigurationError(
                "word_exchange: unaligned=literal sums over all masked tokens, so divide_by=linked has no meaning; "
                "write divide_by: masked"
            )

    def measure(
        self, hidden: Tensor, links: Tensor, labels: Tensor, table: Tensor | SharedTable
    ) -> LossOutput:
        """Sum the cross-entropy over the masked tokens that have a link, or over all with ``unaligned: literal``.

        Args:
            hidden: states of the masked pair.
            links: positions of linked pieces [source, target] in the pair; −1 pads.
            labels: ids of the masked tokens, negative elsewhere.
            table: the output embeddings, e.

        **Shape**: hidden (batch, length, hidden); links (batch, links, 2); labels (batch, length); table (V, hidden).
        """
        require_axes(
            hidden=(hidden, "batch length hidden"),
            links=(links, "batch links 2"),
            labels=(labels, "batch length"),
        )
        masked = labels >= 0
        keep_unaligned = self.unaligned == "literal"
        states, flat_positions = exchange(
            hidden, links, masked, many=self.many, keep_unaligned=keep_unaligned
        )
        states = self.transform(self.exchange_dense(states))  # Eq. 6, Eq. 7 and `linear` of Eq. 8
        total, correct = vocabulary_loss(states, labels.flatten()[flat_positions], table, self.bias)
        predicted = flat_positions.numel()
        metrics = {
            "accuracy": correct.detach().float() / max(1, predicted),
            "aligned": self.count_linked(links, masked) / masked.sum().clamp(min=1),
        }
        items: dict[str, Tensor | int] = {"accuracy": predicted, "aligned": masked.sum()}
        count = masked.sum() if self.divide_by == "masked" else torch.as_tensor(predicted)
        return LossOutput(total, count.to(total.device), metrics, items)

    def count_linked(self, links: Tensor, masked: Tensor) -> Tensor:
        """Count the masked tokens that have a link."""
        flat_positions, _ = _swaps(links, masked, one_to_one=self.many == "one_to_one")
        return torch.tensor(torch.unique(flat_positions).numel(), device=masked.device)


def exchange(
    hidden: Tensor,
    links: Tensor,
    masked: Tensor,
    *,
    many: str = "mean",
    keep_unaligned: bool = False,
) -> tuple[Tensor, Tensor]:
    """Give each masked position the states that it is linked to: the rows of ``Aᵀ H`` (Eq. 5), and the flat positions.

    A flat position counts through the whole batch: position 2 of row 1 of a batch of length 10 is 12. With one row,
    links ``[1, 4]`` and ``[1, 5]`` and position 1 masked, the result is the mean of the states at 4 and 5, and ``[1]``.
    The flat positions ascend.

    ``many``: ``sum`` or ``mean`` of the states that one position is linked to, or ``one_to_one``.
    ``keep_unaligned``: give masked positions without a link a row of zeros instead of leaving them out.

    **Shape**: hidden (batch, length, hidden); links (batch, links, 2), −1 pads; masked (batch, length).
    """
    receivers, origins = _swaps(links, masked, one_to_one=many == "one_to_one")
    # The result has one row for each position in `flat_positions`; `result_row` is the row of each receiver.
    if keep_unaligned:
        flat_positions = masked.flatten().nonzero().squeeze(1)
        result_row = torch.searchsorted(flat_positions, receivers)  # every receiver is there, as it is masked
    else:
        flat_positions, result_row = torch.unique(receivers, return_inverse=True)
    flat_hidden = hidden.reshape(-1, hidden.size(-1))
    zeros = flat_hidden.new_zeros(flat_positions.numel(), flat_hidden.size(1))
    states = zeros.index_add(0, result_row, flat_hidden[origins])
    if many == "mean":
        link_counts = torch.bincount(result_row, minlength=flat_positions.numel()).clamp(min=1)  # by row
        states = states / link_counts.unsqueeze(1).to(states.dtype)
    return states, flat_positions


def _swaps(links: Tensor, masked: Tensor, *, one_to_one: bool) -> tuple[Tensor, Tensor]:
    """The cells of A that matter: masked positions (receivers), and the position that each is predicted from (origin).

    Both are flat positions. A position with several links comes several times: with the links ``[1, 4]`` and ``[1, 5]``
    of row 0 and position 1 masked, receivers are ``[1, 1]`` and origins ``[4, 5]``.
    """
    length = masked.size(1)
    require_inside(links, length)
    real = (links >= 0).all(dim=-1)
    row_start = torch.arange(links.size(0), device=links.device).unsqueeze(1) * length
    source = (links[..., 0] + row_start)[real]
    target = (links[..., 1] + row_start)[real]
    # A is 0/1, so a link that is listed twice counts once. To find such links,
    # each cell gets a number: of 10 positions, cell (1, 4) is 14.
    positions = masked.numel()
    cells = torch.unique(source * positions + target)
    source, target = cells // positions, cells % positions
    if one_to_one:
        ends = torch.cat([source, target])
        link_counts = torch.bincount(ends, minlength=masked.numel())  # by flat position
        single = (link_counts[source] == 1) & (link_counts[target] == 1)
        source, target = source[single], target[single]
    # A is symmetric: the source is predicted from the target, and the target from the source.
    receivers, origins = torch.cat([source, target]), torch.cat([target, source])
    is_masked = masked.flatten()[receivers]
    return receivers[is_masked], origins[is_masked]
