"""``isoglot export``: an encoder as a sentence encoder that other libraries load without isoglot.

The exported encoder gives the vectors of :class:`~isoglot.tasks.text_vectors.TextEncoder`, with which retrieval is
measured: the mean over a text's pieces of a layer's hidden states. Two kinds of text differ: an empty one, whose vector
is zero; and one that contains a token that the template adds (``</s>``, ``[SEP]``), which is left out of the mean.

Source: the folder format of sentence-transformers (``modules.json`` and one folder per module), as every release since
2.0 reads it. The library's own ``save`` (6.2) is not used: it names modules that releases before 6 do not have, and
does not record that the encoder has no pooler.
"""

import copy
import json
import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.aligners.embedding.loading import load_encoder
from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.checks import missing_package, validated
from isoglot.core.errors import ConfigurationError
from isoglot.modules.checkpoint import quiet
from isoglot.modules.encoder import encode_to_layer, hidden_size, layer_number, max_length, num_layers
from isoglot.modules.encoder_half import WITHOUT_CLASS
from isoglot.modules.model_folder import model_folder
from isoglot.pretraining.options import SentenceExport
from isoglot.runs.files import refuse_overwriting, write_json
from isoglot.runs.folder import hash_checkpoint
from isoglot.runs.record import Record

_PROTOBUF_LIMIT = 2**31 - 2**20
"""Maximum of bytes of weights inside the ONNX file; larger weights go into a file beside it.

A file of protobuf holds at most 2 GiB; 1 MiB of them is left for the graph.
"""
_POOLED = {
    "mean": "the mean over a text's pieces without special tokens",
    "cls": "at the first position",
}
_CARD = """---
library_name: {library}
pipeline_tag: sentence-similarity
tags: [isoglot, sentence-similarity, feature-extraction]
---

# Sentence encoder

Vectors of {size} numbers: layer {layer} of a `{family}` encoder, {pooling}{normalized}. Texts are cut to {longest}
tokens. Exported by [isoglot](https://pypi.org/project/isoglot/).

```python
{use}
```
"""
_USE = {
    "sentence-transformers": """from sentence_transformers import SentenceTransformer

vectors = SentenceTransformer("FOLDER").encode(["A house.", "Ein Haus."])""",
    "onnx": """import onnxruntime
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
session = onnxruntime.InferenceSession("FOLDER/model.onnx")
given = tokenizer(["A house.", "Ein Haus."], padding=True, truncation=True, return_tensors="np")
_, vectors = session.run(None, {name: given[name] for name in ("input_ids", "attention_mask")})""",
}


def export(  # noqa: PLR0913 - the face names what users look for
    model: PreTrainedModel | str | Path,
    out: str | Path,
    *,
    to: Literal["sentence-transformers", "onnx"] = "sentence-transformers",
    layer: int = -1,
    pooling: Literal["mean", "cls"] = "mean",
    normalize: bool = True,
    max_length: int = 512,
    tokenizer: PreTrainedTokenizerBase | None = None,
    overwrite: bool = False,
) -> Path:
    """Write an encoder as a sentence encoder that other libraries load without isoglot, as ``isoglot export`` does.

    Args:
        model: Folder of a checkpoint or run, hub name, or a model object.
        out: Folder to write.
        to: Library or format to write for.
        layer: Layer of the hidden states; -1 is the last. Layers above it are left out.
        pooling: ``mean`` over the text's pieces, special tokens left out; ``cls`` for the first position.
        normalize: Scale each vector to length 1.
        max_length: Tokens of a text; longer texts are cut.
        tokenizer: Tokenizer of a model object.
        overwrite: Replace an export of other options.

    Returns:
        The folder.

    Raises:
        ConfigurationError: A layer that the encoder does not have, or that its family cannot end in; the package
            onnxscript is missing.
    """
    chosen = {"to": to, "layer": layer, "pooling": pooling, "normalize": normalize, "max_length": max_length}
    request = validated(SentenceExport, chosen)
    with model_folder(model, tokenizer) as checkpoint:
        name = str(checkpoint) if checkpoint == model else Path(checkpoint).name
        export_sentences(checkpoint, out, request, overwrite=overwrite, name=name)
    return Path(out)


def export_sentences(
    checkpoint: str | Path,
    out: str | Path,
    request: SentenceExport,
    *,
    overwrite: bool = False,
    name: str | None = None,
) -> bool:
    """Write a folder that sentence-transformers or onnxruntime loads; return whether the folder is new.

    For sentence-transformers it is also a plain Hugging Face folder of the encoder. For ONNX it holds ``model.onnx``,
    from ``input_ids`` and ``attention_mask`` (batch, length) to ``token_embeddings`` (batch, length, hidden) and
    ``sentence_embedding`` (batch, hidden), and the tokenizer.

    ``name``: The name under which the encoder is recorded.

    Raises:
        ConfigurationError: A layer that the encoder does not have, or that its family cannot end in; the package
            onnxscript is missing.
    """
    refuse_overwriting(out, [checkpoint])
    source = checkpoint_folder(checkpoint)
    hashed = hash_checkpoint(source) if isinstance(source, Path) else None
    made_from = {
        "encoder": {"path": name or str(checkpoint), "hash": hashed},
        "options": request.model_dump(mode="json"),
    }

    def write(folder: Path) -> dict[str, Any]:
        return _write_folder(folder, source, request, name or str(checkpoint))

    _, is_new = Record(out, made_from, what="exported encoder", overwrite=overwrite).make(write)
    return is_new


def _write_folder(folder: Path, source: Path | str, request: SentenceExport, name: str) -> dict[str, Any]:
    """Fill the folder of an export: tokenizer, configuration, weights and card; return the values of its manifest."""
    loaded, tokenizer = load_encoder(source, device="cpu")
    if request.to == "sentence-transformers" and loaded.config.model_type in WITHOUT_CLASS:
        raise ConfigurationError(
            f"{name}: sentence-transformers loads no encoder of {loaded.config.model_type} without "
            "its decoder; export it to onnx"
        )
    layer = layer_number(loaded, request.layer)
    model = encoder_up_to(loaded, layer)
    most_tokens = max_length(model)  # None: the encoder has no limit
    longest = request.max_length if most_tokens is None else min(request.max_length, most_tokens)
    tokenizer.model_max_length = longest
    with quiet():
        tokenizer.save_pretrained(str(folder))
        model.config.save_pretrained(str(folder))
    if request.to == "onnx":
        _write_onnx(model, tokenizer, folder / "model.onnx", request)
    else:
        _write_modules(model, tokenizer, folder, request)
    values = {"layer": layer, "longest": longest, "size": hidden_size(model)}
    card = _CARD.format(
        **values,
        library="sentence-transformers" if request.to != "onnx" else "onnx",
        family=model.config.model_type,
        pooling=_POOLED[request.pooling],
        normalized=", scaled to length 1" if request.normalize else "",
        use=_USE[request.to],
    )
    (folder / "README.md").write_text(card, encoding="utf-8")
    return values


def encoder_up_to(model: PreTrainedModel, layer: int) -> PreTrainedModel:
    """Return an encoder that ends in a layer of ``model``: its last hidden states are the states of that layer.

    The small encoder is compared with the whole one on a few pieces, because some families cannot end anywhere:
    ModernBERT normalises the states of its last layer, and no others.

    Raises:
        ConfigurationError: Layer 0, the embeddings; or the family changes the states of its last layer.
    """
    if layer == num_layers(model):
        return model
    if layer == 0:
        raise ConfigurationError(
            f"layer 0 is the embeddings, below all layers; export one from 1 to {num_layers(model)}"
        )
    config = copy.deepcopy(model.config)
    types_of_layers = getattr(config, "layer_types", None)
    if isinstance(types_of_layers, list):
        config.layer_types = types_of_layers[:layer]
    config.num_hidden_layers = layer
    with torch.random.fork_rng(devices=[]):  # new weights are drawn, and replaced below
        small: PreTrainedModel = type(model)(config).eval()
    weights = model.state_dict()
    # The loaded encoder may lack a pooler, whose weights nobody reads; all other weights are shared.
    shared = {name: weights[name] for name in small.state_dict() if name in weights}
    small.load_state_dict(shared, strict=False)
    ids = torch.arange(min(8, config.vocab_size))[None]
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    expected = encode_to_layer(model, inputs, layer, training=False)
    states = encode_to_layer(small, inputs, layer, training=False)
    with torch.no_grad():
        last = small(**inputs)[0]
    if not (torch.allclose(expected, states, atol=1e-5) and torch.allclose(last, expected, atol=1e-5)):
        raise ConfigurationError(
            f"layer {layer}: a {config.model_type} encoder cannot end there, as it changes the states of its last "
            f"layer; export layer {num_layers(model)}"
        )
    return small


def _added_tokens(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the ids of the tokens that the tokenizer puts around a text: those of ``[CLS]`` and ``[SEP]``, say."""
    return sorted(set(tokenizer("")["input_ids"]))


def _write_modules(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path, request: SentenceExport
) -> None:
    """Write weights and ``modules.json``: encoder, weights of tokens, pooling, normalisation.

    The weights of tokens are 0 for special ones and 1 for all others, so that pooling takes the mean over the text.
    """
    has_pooler = getattr(model, "pooler", None) is not None
    state = {name: value for name, value in model.state_dict().items() if not name.startswith("pooler.")}
    with quiet():
        model.save_pretrained(str(folder), state_dict=state)
    encoder: dict[str, Any] = {"max_seq_length": tokenizer.model_max_length, "do_lower_case": False}
    if has_pooler:
        encoder["model_args"] = {"add_pooling_layer": False}  # the pooler is not written: nobody reads it
    write_json(folder / "sentence_bert_config.json", encoder)
    modules: dict[str, Mapping[str, Any]] = {"Transformer": {}}
    if request.pooling == "mean":
        pieces = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        no_weight = {pieces[number]: 0.0 for number in _added_tokens(tokenizer)}
        modules["WordWeights"] = {"vocab": pieces, "word_weights": no_weight, "unknown_word_weight": 1.0}
    modules["Pooling"] = {
        "word_embedding_dimension": hidden_size(model),
        "pooling_mode_cls_token": request.pooling == "cls",
        "pooling_mode_mean_tokens": request.pooling == "mean",
    }
    if request.normalize:
        modules["Normalize"] = {}
    listed = []
    for number, (kind, settings) in enumerate(modules.items()):
        # The encoder is in the folder itself, the other modules in folders of their own.
        path = f"{number}_{kind}" if number else ""
        module = f"sentence_transformers.models.{kind}"
        listed.append({"idx": number, "name": str(number), "path": path, "type": module})
        if number:
            (folder / path).mkdir()
            write_json(folder / path / "config.json", settings)
    (folder / "modules.json").write_text(json.dumps(listed, indent=2), encoding="utf-8")
    write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine", "prompts": {}})


class _Sentences(nn.Module):
    """Token and sentence vectors of a batch, as one graph.

    ``added``: Ids of the tokens that the tokenizer puts around a text; they do not count in the mean.
    """

    added: Tensor

    def __init__(self, model: PreTrainedModel, added: list[int], request: SentenceExport) -> None:
        super().__init__()
        self.model, self.request = model, request
        self.register_buffer("added", torch.tensor(added))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        states = self.model(input_ids=input_ids, attention_mask=attention_mask)[0]
        if self.request.pooling == "cls":
            vectors = states[:, 0]
        else:
            is_text = input_ids[..., None].ne(self.added).all(dim=-1) & (attention_mask > 0)
            weights = is_text.to(states.dtype)[..., None]
            # An empty text has no weights: it is divided by 1, and its vector is zero.
            vectors = (states * weights).sum(1) / weights.sum(1).clamp(min=1)
        if self.request.normalize:
            vectors = nn.functional.normalize(vectors, dim=-1)
        return states, vectors


def _write_onnx(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, path: Path, request: SentenceExport
) -> None:
    """Write ``model.onnx``, for batches and texts of any length."""
    try:
        import onnxscript  # noqa: F401, PLC0415 - torch.onnx needs it
    except ImportError as error:
        raise missing_package(
            "[[to='onnx']]", "onnxscript", instead="[[to='sentence-transformers']]"
        ) from error
    # The exporter follows one batch; its two sizes may be others later.
    text = tokenizer(["a b c", "a"], padding=True, return_tensors="pt")
    any_size: Any = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    size = sum(value.numel() * value.element_size() for value in model.state_dict().values())
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    log.setLevel(logging.ERROR)  # it reports packages that nothing here needs
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")  # the exporter warns about its own code
        torch.onnx.export(
            _Sentences(model, _added_tokens(tokenizer), request).eval(),
            (text["input_ids"], text["attention_mask"]),
            str(path),
            dynamo=True,
            dynamic_shapes=(any_size, any_size),
            input_names=["input_ids", "attention_mask"],
            output_names=["token_embeddings", "sentence_embedding"],
            external_data=size > _PROTOBUF_LIMIT,
            verbose=False,
        )
