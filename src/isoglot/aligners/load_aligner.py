"""Decide which aligner is meant, check its options, and load it; every verb that needs word links asks here.

    what a user gives             request (options.py)    aligner
    model="box", method=softmax   Encoder                 with_encoder.EncoderAligner
    method=hmm, fast_align        Hmm, FastAlign          with_statistics.ModelLearner
    method=eflomal                Eflomal                 with_statistics.EflomalLearner
    model=FOLDER of a saved model SavedModel              with_statistics.SavedAligner
    method=package.module:Name    Plugin                  plugin.PluginAligner

``aligner_request`` makes the request from options by name, ``loaded`` the aligner of a request; ``load_aligner`` does
both.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.aligners.aligner import Aligner, Use
from isoglot.aligners.embedding.choice import untuned, with_kept
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions
from isoglot.aligners.options import (
    KINDS,
    STATISTICAL,
    AnyAligner,
    Eflomal,
    Encoder,
    Plugin,
    SavedModel,
    is_saved_model,
    own_class_option,
    paths_of,
)
from isoglot.checkpoints.folder import BOX, checkpoint_folder
from isoglot.core.checks import closest, resolve, validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import fields_of
from isoglot.runs.code import code_hashes
from isoglot.runs.files import check_outputs
from isoglot.runs.folder import hash_checkpoint

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.formats.words import WordMode

_MEMBERS = ("align", "languages", "learns", "values", "words")
"""Members of :class:`~isoglot.aligners.aligner.Aligner` that an aligner of the user's own must have."""


def load_aligner(
    model: str | Path | PreTrainedModel | Aligner | None = None,
    method: str | None = None,
    *,
    words: WordMode | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    overwrite: bool = False,
    **options: Any,
) -> Aligner:
    """Load an aligner by its name: the one that comes with isoglot by default.

    Args:
        model: Folder or hub name of an encoder, a loaded one, the folder of a saved statistical aligner, or an aligner.
        method: How links are made: a name that ``isoglot align --methods`` lists, or ``package.module:Name`` of a class
            of your own, whose constructor takes ``options``. By default what suits the model best.
        words: How text is cut into words: ``unicode`` for running text, ``whitespace`` for tokenised text.
        tokenizer: Tokenizer of a loaded encoder.
        overwrite: Replace a model that was saved from another text or with other options.
        **options: Options of the method; see :func:`isoglot.align_many`.

    Returns:
        The aligner. Its ``align`` takes pairs with words, or with text, which it cuts. One that learns reads all of
        them first.

    Raises:
        ConfigurationError: An option or method that does not exist, or a model that cannot be loaded.

    Example:
        >>> from isoglot import SentencePair
        >>> pairs = [SentencePair.of("the house", "das Haus"), SentencePair.of("a house", "ein Haus")]
        >>> [pair.to_pharaoh() for pair in load_aligner(method="fast_align").align(pairs)]
        ['0-0 1-1', '0-0 1-1']
    """
    # Imported here, because a command that only checks options loads neither torch nor the cutting of words.
    from isoglot.aligners.with_encoder import load_encoder_aligner  # noqa: PLC0415
    from isoglot.formats.words import require_mode  # noqa: PLC0415

    if words is not None:
        require_mode(words)
    use = Use(word_mode=words, stays_in_memory=True, overwrite=overwrite)
    if model is not None and not isinstance(model, str | Path) and not _is_aligner(model):
        # An encoder in memory: it has no name or folder that options could be kept beside.
        given = options if method is None else {"method": method, **options}
        encoder: Any = model
        encoder_request = Encoder(options=EmbeddingOptions.build(**untuned(given)))
        return load_encoder_aligner(encoder_request, use, encoder, tokenizer)
    named: dict[str, Any] = {}
    if model is not None:
        named["model"] = model
    if method is not None:
        named["method"] = method
    request = aligner_request(**options, **named)
    if tokenizer is not None and not isinstance(request, Encoder):
        raise ConfigurationError("tokenizer: a statistical aligner has none; leave it out")
    if tokenizer is not None and model is None:
        raise ConfigurationError(
            "got a tokenizer without its model; add model=, or leave it out: the aligner of the package has its own"
        )
    if isinstance(request, Encoder) and request.engine != "local":
        raise ConfigurationError(
            f"[[engine='{request.engine}']]: is for a prepared folder; run `isoglot align FOLDER --engine ray`"
        )
    # Refused before anything is learned: outputs that cannot be written, or would overwrite an input.
    folders = paths_of(request, "save")
    outputs = [*folders, *paths_of(request, "lexicon_files")]
    check_outputs(outputs, paths_of(request, "train_on", "load", "start"), folders=folders)
    if isinstance(request, Encoder):
        return load_encoder_aligner(request, use, tokenizer=tokenizer)
    return loaded(request, use)


def aligner_request(**values: Any) -> AnyAligner:
    """Check options by name, ``method``, ``model`` and ``load`` among them; nothing is loaded.

    The first of these rules that applies decides which aligner is meant:

    1. ``model`` is an aligner in memory, or ``method`` or ``model`` is ``package.module:Name``: the user's own.
    2. ``load=FOLDER``, or a ``model`` that is the folder of a saved statistical model: this model.
    3. No ``method``, or a method of encoders: the encoder ``model``, by default the one that comes with the package;
       its method is by default the one that the encoder keeps, else ``itermax``.
    4. ``method`` is ``hmm``, ``fast_align`` or ``eflomal``: a method that learns from the pairs.

    Raises:
        ConfigurationError: An unknown method or option, or one that the method does not have.

    Example:
        >>> aligner_request(method="hmm", lowercase=True).kind, aligner_request().model
        ('hmm', 'box')
    """
    # 1. The user's own aligner.
    own = "model" if _is_aligner(values.get("model")) else own_class_option(values)
    if own is not None:
        return _plugin(values.pop(own), values)
    # 2. A saved model.
    if "load" not in values and is_saved_model(values.get("model")):
        values["load"] = values.pop("model")
    if "load" in values:
        return validated(SavedModel, values, owner="a saved model")
    # 3. An encoder.
    method = values.get("method")
    if method is None:
        _refuse_options_of_learning(values)
    if method is None or method in METHODS:
        values = {"method": "itermax", **with_kept(values.get("model", BOX), values)}
        method = values["method"]
    if method not in KINDS:
        close = closest(method, KINDS)
        raise ConfigurationError(
            f"[[method]]: unknown method {method!r}; {f'did you mean {close!r}? ' if close else ''}"
            f"Statistical: {', '.join(STATISTICAL)}; with an encoder: {', '.join(METHODS)}"
        )
    # 4. A method that learns.
    if method in STATISTICAL and "model" in values:
        raise ConfigurationError(
            f"[[method='{method}']]: learns from many pairs, without a model; leave [[model]] out, or name the "
            "folder of an "
            f"aligner that `isoglot align BITEXT --method {method} --save FOLDER` kept"
        )
    kind = KINDS[method]
    options = {name: value for name, value in values.items() if name != "method"}
    if kind is Encoder:
        options["method"] = method
    return validated(kind, options, owner=f"method {method}")  # type: ignore[return-value]


def _refuse_options_of_learning(values: Mapping[str, Any]) -> None:
    """Refuse options that only methods that learn have (``lowercase``), for no such method is named."""
    of_learning = {name for name, _, _ in fields_of(*(KINDS[name] for name in STATISTICAL))}
    of_encoders = {name for name, _, _ in fields_of(Encoder)}
    given = [name for name in values if name in of_learning - of_encoders]
    if given:
        raise ConfigurationError(
            f"{', '.join(f'[[{name}]]' for name in given)}: only a method that learns from the bitext reads "
            "this; add "
            "[[method='hmm']] (the most accurate) or [[method='fast_align']] (the fastest)"
        )


def _is_aligner(value: object) -> bool:
    """Whether a value is an aligner in memory, not an encoder, name or folder: it has a method ``align``."""
    return callable(getattr(value, "align", None))


def _plugin(given: Any, options: dict[str, Any]) -> Plugin:
    """Make the request of the user's own aligner.

    An aligner in memory has its options already, so none may be given. ``package.module:Name`` is imported and made
    with the options, which are checked against the arguments of its constructor.
    """
    if isinstance(given, str):
        from isoglot.recipe.spec import spec_of  # noqa: PLC0415 - loads the libraries

        spec = spec_of(resolve({}, given, kind="aligner"), "self")
        aligner = validated(spec, options, owner=given).make(given)
        name = given
    else:
        aligner, name = given, type(given).__name__
        if options:
            raise ConfigurationError(
                f"{', '.join(options)}: {name} is an aligner in memory, which has its options; leave it out"
            )
    if lacking := [member for member in _MEMBERS if not hasattr(aligner, member)]:
        raise ConfigurationError(
            f"{name} lacks {', '.join(lacking)}; let its class inherit from isoglot.Aligner, which has them"
        )
    return Plugin(name=name, settings=options, aligner=aligner)


def loaded(request: AnyAligner, use: Use) -> Aligner:
    """Load the aligner of a request. One that learns is returned untaught, and learns when it is given pairs."""
    if isinstance(request, Encoder):
        from isoglot.aligners.with_encoder import load_encoder_aligner  # noqa: PLC0415 - checks do without

        return load_encoder_aligner(request, use)
    if isinstance(request, Plugin):
        return _own_aligner(request, use)
    from isoglot.aligners import with_statistics  # noqa: PLC0415 - loads numba

    if isinstance(request, SavedModel):
        return with_statistics.load_saved_aligner(request, use)
    if isinstance(request, Eflomal):
        return with_statistics.EflomalLearner(request, use)
    return with_statistics.ModelLearner(request, use)


def made_of(request: AnyAligner) -> dict[str, Any]:
    """Return hashes of what links depend on beside options: an encoder's weights, or the code of a user's class."""
    if isinstance(request, Encoder):
        return {"encoder": hash_checkpoint(checkpoint_folder(request.model))}
    if isinstance(request, Plugin):
        return {"code": code_hashes(type(request.aligner))}
    return {}


def _own_aligner(request: Plugin, use: Use) -> Aligner:
    """Wrap the user's aligner; an object of a class of isoglot gets the wrapper that it has when it is named."""
    aligner = request.aligner
    if _is_instance(aligner, "isoglot.aligners.embedding.aligner", "EmbeddingAligner"):
        from isoglot.aligners.with_encoder import EncoderAligner  # noqa: PLC0415 - checks do without

        return EncoderAligner(aligner, use)
    if _is_instance(aligner, "isoglot.aligners.statistical.model", "StatisticalAligner"):
        from isoglot.aligners.with_statistics import SavedAligner  # noqa: PLC0415 - loads numba

        return SavedAligner(aligner, use)
    from isoglot.aligners.plugin import PluginAligner  # noqa: PLC0415

    return PluginAligner(aligner, request.name, use)


def _is_instance(value: object, module: str, name: str) -> bool:
    """Test whether a value is of a class without importing the class's module, which may load torch.

    If nobody has imported the module, no object of the class can exist.
    """
    return module in sys.modules and isinstance(value, getattr(sys.modules[module], name))
