"""XLM-Align's denoising word alignment: point from a masked token to its translation."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Count, Positive, Share
from isoglot.core.seeding import generator_for
from isoglot.losses.base import Loss, LossOutput, require_axes
from isoglot.losses.vocabulary_loss import IGNORED
from isoglot.modules.hashed_noise import hashed_uniform, sentence_key
from isoglot.modules.pointer import Pointer
from isoglot.modules.self_labelling import Filtering, LinkedPositions, corpus_links, self_label
from isoglot.modules.sinkhorn import Order


class Questions(NamedTuple):
    """Questions to the pointer, which the paper calls queries: which token is this one linked to? (questions,) each.

    Positions count within the sequence of the whole pair. In ``[CLS] a b [SEP] x y [SEP]``, where *a* and *x* are
    linked and *a* is masked, the question of *a* is row 0, position 1, and its answer is position 4.
    """

    rows: Tensor  # the pair, as a row of the batch
    positions: Tensor  # the position that asks
    answers: Tensor  # the position that it is linked to


@dataclass(eq=False, repr=False)
class DenoisingWordAlignment(Loss):
    """Cross-entropy of a pointer network from masked tokens to the tokens they are linked to.

    Equation: ``L = −(1/|P|) Σ_{i ∈ P} log a_i[A(i)]``, ``a_i = softmax(q_iᵀ K / √h)``, P the linked and masked tokens,
    q_i the query vector of token i, K the key vectors of the other sentence, h their width

    P holds tokens of both sides (forward and backward). A(i) is the token that i is linked to, and a_i is the
    :class:`Pointer`'s distribution over all tokens of the *other* sentence. The links come from the corpus, or from the
    encoder's own states of the unmasked pair (:meth:`label`). An encoder that was not pre-trained cannot label itself
    (section 6 of the paper): start it on corpus links. Call :meth:`advance` after each optimiser step.

    Args:
        hidden_size: Size of the states.
        iterations: Sinkhorn iterations; 2 in the paper.
        mu: entropy weight μ; 1 in the paper.
        order: ``official`` (columns, then rows) or ``paper`` (Eq. 6: rows, then columns).
        epsilon: floor of the similarities; 1e-6 in the code.
        filtering: ``itermax`` (the authors' code), ``printed`` (Eq. 7-9 to the letter), ``intersection`` (the released
            aligner) or ``union`` (the ablation).
        alpha: discount of itermax and printed; 0.9 in the code.
        passes: number of passes of itermax and printed, the first included; 2 in the code.
        queries: which aligned tokens ask: ``masked`` ones (selected for prediction, whatever stands there
            now), ``unmasked`` ones (a random share of those not selected), ``all_aligned`` (of every link one
            of its two tokens at random). These are three rows of Table 7; the fourth, no query, is training without
            this loss. If a token has several links, its answer is the last linked token of the other sentence (the
            released code); with ``all_aligned`` every link is a separate question.
        unmasked_share: the share of tokens for ``unmasked``; 0.15 in the paper.
        seed: Seed of the pointer's initial weights and of the draws for ``queries``. Draws are hashes of seed,
            step and sentence, so neither a resume nor the split of a batch changes them.

    **Metrics**: ``accuracy``; ``queries_per_pair``; ``links_per_pair``.

    Source: Chi et al. 2021, *Improving Pretrained Cross-Lingual Language Models via Self-Labeled Word
    Alignment*, Eq. 1-15.

    Example:
        >>> encoder = torch.nn.Embedding(30, 8)
        >>> alignment = DenoisingWordAlignment(8)
        >>> optimizer = torch.optim.AdamW([*encoder.parameters(), *alignment.parameters()], lr=1e-2)
        >>> unmasked = torch.tensor([[2, 10, 11, 3, 20, 21, 3]])
        >>> masked = torch.tensor([[2, 4, 11, 3, 20, 21, 3]])
        >>> side_ids = torch.tensor([[0, 1, 1, 0, 2, 2, 0]])
        >>> labels = torch.tensor([[-100, 10, -100, -100, -100, -100, -100]])
        >>> for _ in range(2):
        ...     with torch.no_grad():
        ...         links = alignment.label(encoder(unmasked), side_ids)
        ...     loss = alignment(encoder(masked), side_ids, links, labels)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
        ...     alignment.advance()
    """

    hidden_size: int
    _: KW_ONLY
    iterations: Annotated[int, Field(ge=0)] = 2
    mu: Positive = 1.0
    order: Order = "official"
    epsilon: Positive = 1e-6
    filtering: Filtering = "itermax"
    alpha: float = 0.9
    passes: Count = 2
    queries: Literal["masked", "unmasked", "all_aligned"] = "masked"
    unmasked_share: Share = 0.15
    seed: int = 0

    def __post_init__(self) -> None:
        self.settle()
        self.pointer = Pointer(self.hidden_size, generator=generator_for(self.seed, "pointer"))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def measure(
        self,
        hidden: Tensor,
        side_ids: Tensor,
        links: LinkedPositions | Tensor,
        labels: Tensor | None = None,
        *,
        input_ids: Tensor | None = None,
    ) -> LossOutput:
        """Sum the cross-entropy over the queries of both directions.

        Args:
            hidden: states of the concatenated, masked pair.
            side_ids: 1 source, 2 target, else special token or padding.
            links: the result of :meth:`label`, or positions of linked pieces [source, target], −1 pads.
            labels: ids of the masked tokens, −100 elsewhere; needed unless queries are ``all_aligned``.
            input_ids: ids of the unmasked pair, by which queries other than ``masked`` are drawn.

        **Shape**: hidden (batch, length, hidden); links (batch, links, 2); the others (batch, length).
        """
        require_axes(
            hidden=(hidden, "batch length hidden"),
            side_ids=(side_ids, "batch length"),
            labels=(labels, "batch length"),
            input_ids=(input_ids, "batch length"),
            links=(links if isinstance(links, Tensor) else None, "batch links 2"),
        )
        if isinstance(links, Tensor):
            links = corpus_links(links, side_ids)
        questions = self.choose(links, side_ids, labels, input_ids)
        total, correct = pointer_loss(self.pointer, hidden, side_ids, questions)
        count, pairs = len(questions.rows), len(side_ids)
        metrics = {
            "accuracy": correct.float() / max(1, count),
            "queries_per_pair": total.new_tensor(count / max(1, pairs)),
            "links_per_pair": total.new_tensor(float(len(links.rows))) / max(1, pairs),
        }
        items = {"queries_per_pair": pairs, "links_per_pair": pairs}
        return LossOutput(total, torch.tensor(count, device=total.device), metrics, items)

    def label(self, states: Tensor, side_ids: Tensor) -> LinkedPositions:
        """Find links in the encoder's states of the unmasked pair (Eq. 1-9).

        **Shape**: states (batch, length, hidden); side_ids (batch, length).
        """
        return self_label(
            states,
            side_ids,
            iterations=self.iterations,
            mu=self.mu,
            epsilon=self.epsilon,
            order=self.order,
            filtering=self.filtering,
            alpha=self.alpha,
            passes=self.passes,
        )

    def choose(
        self, links: LinkedPositions, side_ids: Tensor, labels: Tensor | None, input_ids: Tensor | None = None
    ) -> Questions:
        """Choose the tokens of a batch that ask, and their answers, by the option ``queries`` (Eq. 14, Table 7).

        Arguments as of :meth:`measure`.
        """
        length = side_ids.shape[1]
        if self.queries == "all_aligned":
            # A coin for each link says which of its two tokens asks; the other one is the answer.
            rows, first, second = links.tensors()
            first_asks = self._draw(input_ids, side_ids, rows, first, second) < 0.5
            positions = torch.where(first_asks, first, second)
            answers = torch.where(first_asks, second, first)
            return Questions(rows, positions, answers)

        masked = _needed("labels", labels, self.queries) != IGNORED
        asks = masked
        if self.queries == "unmasked":
            # A draw for each position of the batch says whether it asks.
            every = torch.arange(masked.numel(), device=masked.device)
            draws = self._draw(input_ids, side_ids, every // length, every % length).view_as(masked)
            asks = ~masked & (draws < self.unmasked_share)
        # A token without a link has no answer, and asks nothing.
        answer_of = links.partners(length)
        rows, positions = (asks & (answer_of >= 0)).nonzero(as_tuple=True)
        return Questions(rows, positions, answer_of[rows, positions])

    def advance(self) -> None:
        """Count the optimiser step: the tokens that ask are drawn again for each step."""
        self.step += 1

    def _draw(self, ids: Tensor | None, side_ids: Tensor, rows: Tensor, *positions: Tensor) -> Tensor:
        """Draw a uniform number in [0, 1) for each row and position, or row and pair of positions: (rows,).

        A draw is a hash of the seed, the step, the sentence and the positions, so equal inputs draw the same.
        """
        sentence = sentence_key(_needed("input_ids", ids, self.queries), side_ids > 0)
        return hashed_uniform(sentence[rows], self.seed, self.step.to(sentence.device), *positions)


def pointer_loss(
    pointer: Pointer, hidden: Tensor, side_ids: Tensor, questions: Questions
) -> tuple[Tensor, Tensor]:
    """Sum the cross-entropy of the pointer (Eq. 15), and count its right answers.

    Each question is answered with a token of the other sentence, masked or not. Without a question the sum is 0, with
    its gradient graph.

    **Shape**: hidden (batch, length, hidden), side_ids (batch, length).
    """
    rows, positions, answers = questions
    other_side = 3 - side_ids[rows, positions]  # sides are 1 and 2
    allowed = side_ids[rows] == other_side[:, None]
    scores = pointer(hidden, rows, positions, allowed)
    total = nn.functional.cross_entropy(scores, answers, reduction="sum")
    return total, (scores.argmax(1) == answers).sum()


def _needed(name: str, tensor: Tensor | None, queries: str) -> Tensor:
    """The tensor; an error if it is missing, as this value of the option ``queries`` reads it."""
    if tensor is None:
        raise ConfigurationError(f"queries: {queries} needs {name}; give them to the loss")
    return tensor
