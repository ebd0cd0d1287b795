"""Make views of the items of a mixture, and pad them: a list of items in, one batch for each view out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for, seed_for
from isoglot.views.base import View, padding_value, require_view


@dataclass
class Collator:
    """Build the views of each item and pad them to a batch.

    The randomness of an item's view depends on ``(seed, view, item's position)`` alone. So an example's tensors are
    the same whatever batch, worker or rank it lands in, and a resumed run draws the masks it would have drawn.

    Args:
        views: view name → (name of the stream it reads, view).
        pad_to_multiple_of: round lengths up, 8 for tensor cores or 64 for few compiled shapes.
        samples: stream name → one example of it (:meth:`isoglot.training.mixture.Mixture.samples`), needed if items
            lack streams. A view that no item of a batch feeds becomes a batch of no rows, with the keys that the view
            makes of this example.

    **Shape**: each tensor (batch, length); link ids (batch, links, 2); one value an example (batch, 1). All int64.

    Example:
        >>> from isoglot.testing import tiny_tokenizer
        >>> from isoglot.views.masked_text import MaskedText
        >>> tokenizer = tiny_tokenizer()
        >>> view = MaskedText(tokenizer)
        >>> collate = Collator({"mono": ("text", view)}, seed=1, pad_token_id=tokenizer.pad_token_id)
        >>> items = [{"position": i, "text": {"input_ids": [7] * (i + 1)}} for i in range(3)]
        >>> collate(items)["mono"]["input_ids"].shape
        torch.Size([3, 5])
    """

    views: Mapping[str, tuple[str, View]]
    _: KW_ONLY
    seed: int
    pad_token_id: int
    pad_to_multiple_of: int | None = None
    samples: Mapping[str, Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        """Refuse values of ``views`` that are not a stream's name with a view."""
        for name, value in self.views.items():
            if not isinstance(value, tuple) or len(value) != 2:
                raise ConfigurationError(f"view {name!r}: expected (stream, view), got {shortened(value)}")
            require_view(type(value[1]), f"view {name!r}")

    def __call__(self, items: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Tensor]]:
        """Return the batch: view name → batch key → padded tensor."""
        batch = {}
        for name, (stream, view) in self.views.items():
            feeding = items
            if self.samples is not None:
                feeding = [item for item in items if stream in item]
                if not feeding:
                    batch[name] = self._without_rows(name, stream, view, self.samples[stream])
                    continue
            batch[name] = pad(
                [self._build(name, stream, view, item) for item in feeding],
                pad_token_id=self.pad_token_id,
                multiple=self.pad_to_multiple_of or 1,
                view=name,
            )
        return batch

    def coin(self, stream: str, position: int) -> bool:
        """Toss a fair coin for a stream and position, by which views of pairs put source or target first.

        All views of one example see the same side of the coin.
        """
        return bool(seed_for(self.seed, "coin", stream, position) & 1)

    def _without_rows(
        self, name: str, stream: str, view: View, sample: Mapping[str, Any]
    ) -> dict[str, Tensor]:
        """Return the batch of a view that no item feeds: tensors of no rows, with the keys that the sample gives."""
        built = self._build(name, stream, view, {"position": 0, stream: sample})
        return {key: values[None, :][:0] for key, values in built.items()}

    def _build(self, name: str, stream: str, view: View, item: Mapping[str, Any]) -> dict[str, Tensor]:
        """Build one view of one item, with random numbers that depend on the view and the item's position alone."""
        lacking = [key for key in ("position", stream) if key not in item]
        if lacking:
            raise ConfigurationError(
                f"view {name!r}: an example has no {lacking[0]!r}; it has {', '.join(item) or 'nothing'}. "
                "transformers.Trainer drops what it does not know: pass TrainingArguments(remove_unused_columns=False)"
            )
        position = int(item["position"])
        generator = generator_for(self.seed, "view", name, position)
        return view.build(item[stream], coin=self.coin(stream, position), generator=generator)


def pad(
    examples: Sequence[Mapping[str, Tensor]], *, pad_token_id: int, multiple: int = 1, view: str = ""
) -> dict[str, Tensor]:
    """Stack examples, each key padded at its end: ``input_ids`` [7] and [7, 8] become [[7, 0], [7, 8]].

    The suffix of a key decides the value that it is padded with (:func:`isoglot.views.base.padding_value`).

    Args:
        examples: The tensors that a view makes of each example, by batch key.
        pad_token_id: The value that ids of pieces are padded with.
        multiple: Keys with one value per token are padded to a multiple of this length. Others, such as links or one
            value for each example, are not.
        view: Name of the view in messages.
    """
    keys = list(examples[0])
    for example in examples:
        if example.keys() != examples[0].keys():
            differing = sorted(example.keys() ^ examples[0].keys())
            raise ConfigurationError(
                f"view {view!r}: some examples have {', '.join(differing)} and others do not; encode the stream again"
            )
    lengths = {key: [example[key].size(0) for example in examples] for key in keys}
    # A key has one value per token if its lengths are those of the input ids, or of one side's (`query_input_ids`).
    token_lengths = [lengths[key] for key in keys if key.endswith("input_ids")]
    batch = {}
    for key in keys:
        longest = max(lengths[key])
        if multiple > 1 and lengths[key] in token_lengths and not key.endswith("link_ids"):
            longest = math.ceil(longest / multiple) * multiple
        shape = (len(examples), longest, *examples[0][key].shape[1:])
        values = np.full(shape, padding_value(key, pad_token_id=pad_token_id), dtype=np.int64)
        for row, example, length in zip(values, examples, lengths[key], strict=True):
            row[:length] = example[key].numpy()
        batch[key] = torch.from_numpy(values)
    return batch
