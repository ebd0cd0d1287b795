"""Links in blocks: those of an undisturbed run after a stop, here and on a cluster, and refused for another input."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from typing import Any

import psutil
import pytest
from commands import invoke
from refusals import refused

from isoglot.aligners import in_parts
from isoglot.aligners.align_file import align_file
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions
from isoglot.aligners.in_parts import BlockLinker
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import LinkFormat
from isoglot.core.errors import ConfigurationError, UnknownWordsWarning
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source
from isoglot.runs import parts as parts_module
from isoglot.runs.pool import WorkPool
from isoglot.testing import tiny_aligned

OPTIONS = {"layer": 2, "dtype": "float32", "device": "cpu"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A prepared folder of two language pairs, of more than two windows; one word has no piece."""
    folder = tmp_path_factory.mktemp("corpus")
    rows = tiny_aligned(1500, seed=2)
    lines = [
        f"{' '.join(s)}\t{' '.join(t)}\n"
        for s, t in zip(rows["source_words"], rows["target_words"], strict=True)
    ]
    lines[700] = "the \ue000 river\tta potamo\n"
    for name, part in (("one", lines[:900]), ("two", lines[900:])):
        (folder / f"{name}.tsv").write_text("".join(part), encoding="utf-8")
    sources = [
        Source(path=str(folder / f"{name}.tsv"), source_language="en", target_language=language)
        for name, language in (("one", "xx"), ("two", "yy"))
    ]
    prepare(sources, folder / "prepared", options=PrepareOptions(kind="bitext"))
    return folder / "prepared"


def chosen(encoder, method="itermax", **fields):
    aligner = aligner_request(method=method, model=str(encoder), **OPTIONS, **fields)
    return aligner, LinkFormat(output="jsonl")


def local(corpus, encoder, tmp_path):
    align_file([Source(path=str(corpus))], tmp_path / "local.jsonl", *chosen(encoder))
    return (tmp_path / "local.jsonl").read_text(encoding="utf-8")


@pytest.fixture
def stopping(monkeypatch):
    """Keeps each block at once; ``stopping(n)`` has the aligner interrupted in front of its n-th block."""
    monkeypatch.setattr(parts_module, "SECONDS_OF_WORK", 0.0)
    link, done = BlockLinker.__call__, []

    def set_stop(stop=10**9):
        done.clear()

        def linked(self, block):
            if len(done) == stop:
                raise KeyboardInterrupt
            done.append(block.first)
            return link(self, block)

        monkeypatch.setattr(BlockLinker, "__call__", linked)
        return done

    return set_stop


class Elsewhere(WorkPool):
    """Works here, in place of a cluster, on what has been sent as between machines."""

    def __init__(self, workers, setup, settings, **_):
        super().__init__(1, setup, pickle.loads(pickle.dumps(settings)))
        self.ahead = 3

    def submit(self, function, *arguments, gpu=False):
        future = super().submit(function, *pickle.loads(pickle.dumps(arguments)))
        if future.exception() is None:
            sent = pickle.loads(pickle.dumps(future.result()))
            return super().submit(lambda: sent)
        if isinstance(future.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt
        return future


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setattr("isoglot.runs.cluster.ResidentPool", Elsewhere)


def test_a_stopped_run_goes_on(corpus, encoder, tmp_path, stopping):
    expected = local(corpus, encoder, tmp_path)
    out, parts = tmp_path / "out.jsonl", tmp_path / ".out.jsonl.parts"
    asked = [Source(path=str(corpus))], out, *chosen(encoder)
    assert stopping(3) == []
    with pytest.raises(KeyboardInterrupt):
        align_file(*asked)
    assert not out.exists()
    with refused(ConfigurationError, ".out.jsonl.parts: ", "resume=True"):
        align_file(*asked)
    done = stopping()
    with pytest.warns(UnknownWordsWarning, match=r": 1 \(symbols 1\); first in pair 701: "):
        count = align_file(*asked, resume=True)
    assert done == [768, 1024, 1280]
    assert out.read_text(encoding="utf-8") == expected
    assert count == expected.count("\n")
    assert not parts.exists()


@pytest.mark.slow
def test_align_in_parts_goes_on_with_another_output_of_the_same_links(corpus, encoder, tmp_path, stopping):
    source, (aligner, _) = [Source(path=str(corpus))], chosen(encoder)
    align_file(source, tmp_path / "whole", aligner, LinkFormat(output="corpus"))
    stopping(2)
    with pytest.raises(KeyboardInterrupt):
        align_file(source, tmp_path / "out", aligner)
    done = stopping()
    align_file(source, tmp_path / "out", aligner, LinkFormat(output="corpus"), resume=True)
    assert done[0] == 512
    shards = [
        sorted(p.read_bytes() for p in (tmp_path / name).glob("*.parquet")) for name in ("whole", "out")
    ]
    assert shards[0] == shards[1]


def test_parts_of_other_options_and_inputs_are_refused(encoder, tmp_path, stopping):
    rows = tiny_aligned(600, seed=4)
    lines = [f"{s}\t{t}\n" for s, t in zip(rows["source"], rows["target"], strict=True)]
    (pairs := tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    source = [Source(path=str(pairs), source_language="en", target_language="xx")]
    stopping(1)
    with pytest.raises(KeyboardInterrupt):
        align_file(source, tmp_path / "out", *chosen(encoder))
    with refused(
        ConfigurationError,
        ".out.parts: ",
        "(different: aligner.options.alpha, aligner.options.method, aligner.options.passes)",
    ):
        align_file(source, tmp_path / "out", *chosen(encoder, method="argmax"), resume=True)
    pairs.write_text("".join([*lines, lines[0]]), encoding="utf-8")
    with refused(ConfigurationError, ".out.parts: ", "(different: inputs.pairs.tsv.size)"):
        align_file(source, tmp_path / "out", *chosen(encoder), resume=True)
    lines[5], lines[6] = lines[6], lines[5]
    pairs.write_text("".join(lines), encoding="utf-8")
    with refused(ConfigurationError, ".out.parts: ", "input"):
        align_file(source, tmp_path / "out", *chosen(encoder), resume=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", ["fast_align", "hmm"])
def test_align_in_parts_keeps_what_was_learned(corpus, tmp_path, monkeypatch, method):
    from isoglot.aligners import with_statistics

    source, aligner = [Source(path=str(corpus))], aligner_request(method=method)
    form = LinkFormat(output="jsonl")
    align_file(source, tmp_path / "whole", aligner, form)
    monkeypatch.setattr(with_statistics, "SECONDS_OF_WORK", 0.0)
    monkeypatch.setattr("isoglot.aligners.alignment.WINDOW", 400)
    with monkeypatch.context() as stopped:
        stopped.setattr(
            "isoglot.aligners.align_file.write_lines", lambda linked, *_, **__: next(linked) and 1 / 0
        )
        with pytest.raises(ZeroDivisionError):
            align_file(source, tmp_path / "out", aligner, form)
    learned: list[Any] = []
    monkeypatch.setattr(with_statistics.ModelLearner, "learn", lambda *given: learned.append(given))
    align_file(source, tmp_path / "out", aligner, form, resume=True)
    assert not learned
    assert (tmp_path / "out").read_text() == (tmp_path / "whole").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "whole"]


@pytest.mark.slow
def test_workers_of_a_cluster_give_the_local_links(corpus, encoder, tmp_path, stopping, elsewhere):
    expected = local(corpus, encoder, tmp_path)
    out = tmp_path / "ray.jsonl"
    asked = [Source(path=str(corpus))], out, *chosen(encoder, engine="ray", part_pairs=512)
    stopping(2)
    with pytest.raises(KeyboardInterrupt):
        align_file(*asked)
    done = stopping()
    align_file(*asked)
    assert done == [1024]
    assert out.read_text(encoding="utf-8") == expected
    shards = [str(path) for path in sorted(corpus.parent.glob("*.tsv"))]
    plain = [Source(path=path, source_language="en", target_language="xx") for path in shards]
    for name, engine in (("a", "local"), ("b", "ray")):
        align_file(plain, tmp_path / name, *chosen(encoder, engine=engine))
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


def test_a_saved_model_links_in_blocks(corpus, tmp_path, monkeypatch):
    source = [Source(path=str(corpus))]
    align_file(source, tmp_path / "learned", aligner_request(method="hmm", save=tmp_path / "model"))
    saved, form = aligner_request(load=tmp_path / "model"), LinkFormat(output="jsonl")
    align_file(source, tmp_path / "whole", saved, form)
    monkeypatch.setattr(in_parts, "WINDOW", 400)
    monkeypatch.setattr(parts_module, "SECONDS_OF_WORK", 0.0)
    align_file(source, tmp_path / "blocks", saved, form)
    assert (tmp_path / "whole").read_text() == (tmp_path / "blocks").read_text()


def test_mistakes_say_what_to_type(corpus, encoder, tmp_path, monkeypatch):
    asked = chosen(encoder, engine="ray")
    source = [Source(path=str(corpus))]
    with refused(ConfigurationError, "resume=True", "out="):
        align_file(source, "-", *chosen(encoder), resume=True)
    for values, message in (
        ({"engine": "ray", "method": "fast_align"}, "`engine`: .*fast_align"),
        ({"workers": 2, "model": "x"}, "`workers`: has an effect only with engine=.ray"),
        ({"engine": "spark", "model": "x"}, "`engine`: got 'spark'; known: local, ray"),
        ({"workers": 0, "engine": "ray", "model": "x"}, "`workers`: got 0"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            aligner_request(**values)
    monkeypatch.setitem(sys.modules, "ray", None)
    with refused(ConfigurationError, 'engine="ray"', "pip install 'isoglot[ray]'", 'engine="local"'):
        align_file(source, tmp_path / "out", *asked)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_runs_on_ray(corpus, encoder, tmp_path):
    pytest.importorskip("ray")
    arguments = [str(corpus), "-m", "argmax", "--model", str(encoder), "--layer", "2", "--precision", "float32",
                 "-f", "corpus"]  # fmt: skip
    for name, more in (("a", []), ("b", ["--engine", "ray", "--workers", "2"])):
        result = invoke("align", *arguments, "-o", tmp_path / name, *more)
        assert result.exception is None, result.output
    from isoglot.corpus.manifest import load_corpus

    one, other = load_corpus(tmp_path / "a"), load_corpus(tmp_path / "b")
    assert one[:] == other[:]
    assert set(one["target_language"]) == {"xx", "yy"}
    assert json.loads((tmp_path / "b" / "manifest.json").read_text())["rows"] == len(one) > 1000


RUN = """
import json, sys
import isoglot.runs.parts
from isoglot.aligners.align_file import align_file
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import LinkFormat
from isoglot.formats.sources import Source
isoglot.runs.parts.SECONDS_OF_WORK = 0.0
corpus, out, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
align_file([Source(path=corpus)], out, aligner_request(**options), LinkFormat(output="jsonl"))
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("killed", ["workers", "driver"])
def test_a_run_that_loses_its_workers_or_its_driver_goes_on(corpus, encoder, tmp_path, killed):
    pytest.importorskip("ray")
    shards = sorted(str(path) for path in corpus.glob("*.parquet"))
    sources = [Source(path=path, source_language="en", target_language="und") for path in shards * 6]
    corpus = prepare(sources, tmp_path / "prepared").path
    expected = local(corpus, encoder, tmp_path)
    out, parts = tmp_path / "ray.jsonl", tmp_path / ".ray.jsonl.parts"
    options = {
        "method": "itermax",
        "model": str(encoder),
        "engine": "ray",
        "workers": 2,
        "part_pairs": 512,
        **OPTIONS,
    }
    command = [sys.executable, "-c", RUN, str(corpus), str(out), json.dumps(options)]
    environment = {**os.environ, "RAY_worker_niceness": "0"}  # else 15 below the driver's
    process = subprocess.Popen(command, env=environment)
    while process.poll() is None and len(list(parts.glob("*.parquet"))) < 2:
        time.sleep(0.02)
    assert process.poll() is None, "the run was over too soon"
    if killed == "driver":
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not out.exists()
        process = subprocess.Popen(command, env=environment)
    else:
        below = psutil.Process(process.pid).children(recursive=True)
        actors = [p for p in below if p.cmdline() and "_Resident" in p.cmdline()[0]]
        assert actors
        for actor in actors:
            actor.kill()
    assert process.wait() == 0
    assert out.read_text(encoding="utf-8") == expected
    assert not parts.exists()


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_gets_every_methods_options(method):
    options = EmbeddingOptions.build(method=method, layer=1)
    assert EmbeddingOptions.build(**options.model_dump()) == options
