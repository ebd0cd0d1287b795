"""A recipe on made-up bitext that trains in seconds."""

from __future__ import annotations

import gc
import importlib.metadata
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from good_recipe import GOOD, recipe_file
from hypothesis import HealthCheck, settings

from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

# Imported modules and collected tests stay; looking through them takes a third of the time before the first test.
gc.disable()
settings.register_profile(
    "untimed", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")  # no test hangs on how busy the machine is

TINY = """\
# a tiny run
name: tiny
model:
  architecture: bert
  hidden_size: 32
  num_hidden_layers: 2
  num_attention_heads: 2
  intermediate_size: 64
  max_position_embeddings: 64
tokenizer: {algorithm: wordpiece, vocab_size: 150}
streams:
  bitext: {kind: bitext, path: BITEXT, source_language: en, target_language: xx}
views:
  pair: {type: masked_pair, stream: bitext, probability: 0.3, max_length: 64, order: shuffle}
objectives:
  masked_lm: {type: masked_lm, view: pair}
batch: {examples: 8}
steps: 6
train: {learning_rate: 1e-3, logging_steps: 2, save_steps: 3, save_total_limit: 1, use_cpu: true}
"""


@pytest.hookimpl(tryfirst=True)  # before `-m "not slow"` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked ``fast_variants(3)``, keep the first three variants fast and make the others slow tests."""
    fast: Counter[tuple[Path, str]] = Counter()
    for item in items:
        mark = item.get_closest_marker("fast_variants")
        if mark is None or item.get_closest_marker("slow") is not None:
            continue
        test = item.path, item.name.partition("[")[0]
        if fast[test] == mark.args[0]:
            item.add_marker(pytest.mark.slow)
        else:
            fast[test] += 1


def pytest_collection_finish() -> None:
    """Let the garbage collector look only at objects that are made from here on."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _imports_are_no_garbage() -> Iterator[None]:
    """Freeze again after a module that imported a lot: transformers' Trainer collects garbage at each start."""
    before = len(sys.modules)
    yield
    if len(sys.modules) > before + 100:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def _own_modules(request: pytest.FixtureRequest) -> Iterator[None]:
    """Forget modules that a test wrote and imported: the next test's module of that name is another one."""
    folder = str(request.getfixturevalue("tmp_path")) if "tmp_path" in request.fixturenames else None
    before = set(sys.modules)
    yield
    for name in [] if folder is None else sys.modules.keys() - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]


@pytest.fixture(scope="session", autouse=True)
def _commands_described_once() -> Iterator[None]:
    """Describe the command line once: typer does it anew in every call, which takes longer than most commands here."""
    with pytest.MonkeyPatch.context() as patch:
        described = cache(typer.main.get_command)
        patch.setattr("typer.main.get_command", described)
        patch.setattr("typer.testing._get_command", described)
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_the_disk() -> Iterator[None]:
    """Files are flushed, and versions of packages looked up, hundreds of times a test: a quarter of a short run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        patch.setattr("isoglot.runs.record.version", cache(importlib.metadata.version), raising=False)
        yield


@pytest.fixture
def tiny_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recipe's file; its cache is the test's own."""
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    bitext = tmp_path / "bitext.tsv"
    bitext.write_text("".join(f"{row['source']}\t{row['target']}\n" for row in tiny_bitext(64)))
    recipe = tmp_path / "tiny.yaml"
    recipe.write_text(TINY.replace("BITEXT", str(bitext)))
    return recipe


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A recipe without mistakes, whose files need not be there."""
    return recipe_file(tmp_path, GOOD, "good.yaml")


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder, which no test changes."""
    folder = tmp_path_factory.mktemp("encoder") / "tiny"
    tokenizer = tiny_tokenizer("bert")
    for part in (tiny_model("bert", tokenizer=tokenizer), tokenizer):
        part.save_pretrained(folder)
    return folder
