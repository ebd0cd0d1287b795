"""Parts of a prepared folder aligned by workers: the local engine's links, whole parts, and going on after a stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import ClassVar

import psutil
import pytest
from typer.testing import CliRunner

from isoglot.aligners import align_ray
from isoglot.aligners.align_file import align_file
from isoglot.aligners.align_ray import RayJob, align_part, start
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import LinkFormat
from isoglot.cli import app
from isoglot.core.errors import ConfigurationError, InputError, UnknownWordsWarning
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source
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


class OneProcess(WorkPool):
    """Makes the parts here, the last first, in place of a cluster."""

    made: ClassVar[list[int]] = []
    stop_after = 10**9

    def __init__(self, workers, setup, settings, **_):
        super().__init__(1, setup, settings)

    def map_unordered(self, function, pieces, *, gpu=False):
        for number in reversed(pieces):
            if len(OneProcess.made) == OneProcess.stop_after:
                raise KeyboardInterrupt
            yield function(number)
            OneProcess.made.append(number)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(align_ray, "ResidentPool", OneProcess)
    monkeypatch.setattr(OneProcess, "made", [])
    monkeypatch.setattr(OneProcess, "stop_after", 10**9)
    return OneProcess


def test_parts_are_the_local_links_and_a_stopped_run_goes_on(corpus, encoder, tmp_path, here):
    expected = local(corpus, encoder, tmp_path)
    out = tmp_path / "ray.jsonl"
    asked = chosen(encoder, engine="ray", part_pairs=512)
    here.stop_after = 2
    with pytest.raises(KeyboardInterrupt):
        align_file([Source(path=str(corpus))], out, *asked)
    assert not out.exists()
    parts = tmp_path / "ray.jsonl.parts"
    assert sorted(f.name for f in parts.glob("*.parquet")) == ["000001.parquet", "000002.parquet"]
    assert here.made == [2, 1]
    here.stop_after = 10**9
    with pytest.warns(UnknownWordsWarning, match=r": 1 \(symbols 1\); first in pair 701: "):
        count = align_file([Source(path=str(corpus))], out, *asked)
    assert here.made == [2, 1, 0]
    assert out.read_text(encoding="utf-8") == expected
    assert count == expected.count("\n")
    assert not parts.exists()


def test_parts_of_another_run_are_not_taken(corpus, encoder, tmp_path, here):
    here.stop_after = 1
    asked = chosen(encoder, engine="ray", part_pairs=512)
    with pytest.raises(KeyboardInterrupt):
        align_file([Source(path=str(corpus))], tmp_path / "out", *asked)
    other = chosen(encoder, engine="ray", part_pairs=512, method="argmax")
    with pytest.raises(
        ConfigurationError, match=r"another alignment run \(different: options\.alpha, options\.method"
    ):
        align_file([Source(path=str(corpus))], tmp_path / "out", *other)


def test_a_part_is_whole_or_not_there(corpus, encoder, tmp_path, monkeypatch):
    job = RayJob.build(
        corpus, tmp_path / "parts", str(encoder), options={"method": "argmax", **OPTIONS}, part_pairs=64
    )
    (tmp_path / "parts").mkdir()
    start(job)
    assert align_part(3) == 64
    assert [f.name for f in (tmp_path / "parts").iterdir()] == ["000003.parquet"]
    monkeypatch.setattr(
        "pyarrow.parquet.write_table", lambda table, path: path.write_bytes(b"half") and 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        align_part(4)
    assert [f.name for f in (tmp_path / "parts").iterdir()] == ["000003.parquet"]


def test_mistakes_say_what_to_type(corpus, encoder, tmp_path, monkeypatch):
    asked = chosen(encoder, engine="ray")
    source = [Source(path=str(corpus))]
    with pytest.raises(ConfigurationError, match="name a file: out"):
        align_file(source, "-", *asked)
    (raw := tmp_path / "pairs.tsv").write_text("a\tb\n")
    tags = {"source_language": "en", "target_language": "xx"}
    with pytest.raises(InputError, match=rf"isoglot prepare {raw} --out FOLDER"):
        align_file([Source(path=str(raw), **tags)], tmp_path / "out", *asked)
    for values, message in (
        ({"engine": "ray", "method": "fast_align"}, r"`engine`: method fast_align does not have this option"),
        ({"workers": 2, "model": "x"}, "`workers`: has an effect only with engine=.ray"),
        ({"engine": "spark", "model": "x"}, "`engine`: got 'spark'; known: local, ray"),
        ({"workers": 0, "engine": "ray", "model": "x"}, "`workers`: got 0"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            aligner_request(**values)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'isoglot\[ray\]'"):
        align_file(source, tmp_path / "out", *asked)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_ray_workers_give_the_local_links(corpus, encoder, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    expected = local(corpus, encoder, tmp_path)
    out = tmp_path / "ray.jsonl"
    asked = chosen(encoder, engine="ray", workers=2, part_pairs=512)
    # One part is there from a run that died; its links, unlike all others', say that it was taken.
    monkeypatch.setattr(align_ray, "ResidentPool", OneProcess)
    monkeypatch.setattr(OneProcess, "stop_after", 1)
    with pytest.raises(KeyboardInterrupt):
        align_file([Source(path=str(corpus))], out, *asked)
    kept = (tmp_path / "ray.jsonl.parts" / "000002.parquet").stat().st_mtime_ns
    monkeypatch.undo()
    seen = []
    original = align_ray._read_back
    monkeypatch.setattr(
        align_ray,
        "_read_back",
        lambda job, *rest: seen.append(job.part(2).stat().st_mtime_ns) or original(job, *rest),
    )
    align_file([Source(path=str(corpus))], out, *asked)
    assert seen == [kept]
    assert out.read_text(encoding="utf-8") == expected

    monkeypatch.undo()
    with pytest.raises(ConfigurationError, match=r"holds no config\.json"):
        chosen(tmp_path, engine="ray", workers=2)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_runs_on_ray(corpus, encoder, tmp_path):
    pytest.importorskip("ray")
    arguments = [str(corpus), "-m", "argmax", "--model", str(encoder), "--layer", "2", "--precision", "float32",
                 "-f", "corpus"]  # fmt: skip
    for name, more in (("a", []), ("b", ["--engine", "ray", "--workers", "2"])):
        result = CliRunner().invoke(app, ["align", *arguments, "-o", str(tmp_path / name), *more])
        assert result.exception is None, result.output
    from isoglot.corpus.manifest import load_corpus

    one, other = load_corpus(tmp_path / "a"), load_corpus(tmp_path / "b")
    assert one[:] == other[:]
    assert set(one["target_language"]) == {"xx", "yy"}
    assert json.loads((tmp_path / "b" / "manifest.json").read_text())["rows"] == len(one) > 1000


RUN = """
import json, sys
from isoglot.aligners.align_file import align_file
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import LinkFormat
from isoglot.formats.sources import Source
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
    out, parts = tmp_path / "ray.jsonl", tmp_path / "ray.jsonl.parts"
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
