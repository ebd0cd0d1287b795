"""`prepare` from files to a corpus: counts, order, determinism, and that nothing is left behind on error."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from edits import change_unseen
from reading import PAIR, texts
from tokenizers import Tokenizer, models

from isoglot.corpus.manifest import InputFile, load_corpus, read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.corpus.read import line_files as streams
from isoglot.corpus.read.sources import Source
from isoglot.corpus.shards import sampling_targets
from isoglot.errors import ConfigurationError, InputError


def tsv(folder: Path, lines, name="a.tsv", **fields) -> Source:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Source(path=str(folder / name), **{**PAIR, **fields})


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(streams.LineFile.take, "__defaults__", (10, 1 << 20))


def test_writes_a_corpus_with_a_manifest(tmp_path):
    seen = []
    source = tsv(tmp_path, ["one\teins", " two \tzwei", "\tdrei"])
    summary = prepare(source, tmp_path / "out", progress=lambda *told: seen.append(told))
    assert (summary.read, summary.rows, summary.removed) == (3, 2, {"empty": 1})
    assert texts(tmp_path / "out") == [("one", "eins"), ("two", "zwei")]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["schema"] == "bitext"
    assert manifest["inputs"][0]["size"] == (tmp_path / "a.tsv").stat().st_size
    assert len(manifest["inputs"][0]["blake2b"]) == 32
    assert seen[-1] == (manifest["inputs"][0]["size"],) * 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tsv", "out"]


def test_lines_with_other_spaces_are_counted(tmp_path, small_chunks):
    lines = ["a\u00a0b c\td\t1-0", "a b\tc\u3000\t0-0", *["a b\tc\t0-0"] * 20, "e\tf\u00a0 g\t0-1"]
    summary = prepare(tsv(tmp_path, lines), tmp_path / "out", options=PrepareOptions(kind="aligned"))
    assert summary.notes == ("lines that contain other spaces (such as U+00A0), which do not end a word: 3",)
    assert load_corpus(tmp_path / "out")["source_words"][0] == ["a\u00a0b", "c"]


def test_first_n_after_filtering_and_duplicates_across_chunks(tmp_path, small_chunks):
    lines = [f"s{i % 30}\tt{i % 30}" if i % 2 else "\t" for i in range(200)]
    source = tsv(tmp_path, lines)
    every = prepare(source, tmp_path / "every", options=PrepareOptions(duplicates="pair"))
    assert every.rows == 15
    assert every.removed == {"empty": 100, "duplicates": 85}
    first = prepare(source, tmp_path / "first", options=PrepareOptions(duplicates="pair", limit=7))
    assert texts(tmp_path / "first") == texts(tmp_path / "every")[:7]
    assert first.rows == 7
    assert first.read == 20  # whole chunks of ten lines, and no more of them than needed


def test_what_is_behind_the_first_n_is_not_read(tmp_path, small_chunks):
    lines = [f"s{i}\tt{i}" for i in range(50)] + ["broken"]
    source = tsv(tmp_path, lines)
    for processes in (1, 2):
        out = tmp_path / f"out{processes}"
        assert prepare(source, out, options=PrepareOptions(limit=15), processes=processes).read == 20
    with pytest.raises(InputError, match=r"a\.tsv:51: 1 columns"):
        prepare(source, tmp_path / "all")


def test_the_number_of_processes_changes_nothing(tmp_path, small_chunks):
    sources = [
        tsv(tmp_path, [f"s{i % 70}\tt{i % 70}" for i in range(150)]),
        tsv(tmp_path, [f"u{i}\tv{i}" for i in range(33)], "b.tsv", target_language="fr"),
    ]
    options = PrepareOptions(duplicates="pair", sampling_exponent=0.3, shard_rows=20, limit=60)
    summaries = [prepare(sources, tmp_path / str(n), options=options, processes=n) for n in (1, 3)]
    assert summaries[0].languages == summaries[1].languages
    shards = [sorted((tmp_path / n).glob("*.parquet")) for n in ("1", "3")]
    assert len(shards[0]) > 1
    assert [s.name for s in shards[0]] == [s.name for s in shards[1]]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(*shards, strict=True))


def test_language_sampling(tmp_path):
    sources = [
        tsv(tmp_path, [f"s{i}\tt{i}" for i in range(90)]),
        tsv(tmp_path, [f"u{i}\tv{i}" for i in range(10)], "b.tsv", target_language="fr"),
    ]
    summary = prepare(sources, tmp_path / "out", options=PrepareOptions(sampling_exponent=0.5))
    assert [(c.passed, c.kept) for c in summary.languages] == [(90, 75), (10, 25)]
    data = load_corpus(tmp_path / "out")
    german = [r["source"] for r in data if r["target_language"] == "de"]
    french = [r["source"] for r in data if r["target_language"] == "fr"]
    assert len(set(german)) == 75
    assert [int(s[1:]) for s in german] == sorted(int(s[1:]) for s in german)
    assert french[:20] == [f"u{i}" for i in range(10)] * 2
    assert len(set(french[20:])) == 5
    other = prepare(sources, tmp_path / "o2", options=PrepareOptions(sampling_exponent=0.5, seed=2))
    assert other.rows == 100
    assert [r["source"] for r in load_corpus(tmp_path / "o2")] != [r["source"] for r in data]


def test_sampling_targets():
    assert sampling_targets([900, 100], 1.0) == [900, 100]
    assert sampling_targets([900, 100], 0.0) == [500, 500]
    assert sampling_targets([900, 100], 0.5) == [750, 250]
    assert sampling_targets([4, 0, 3], 0.0) == [4, 0, 3]
    assert sampling_targets([0], 0.5) == [0]
    assert sum(sampling_targets([17, 3, 1000, 41], 0.7)) == 1061


def test_a_second_run_is_skipped_until_something_changes(tmp_path):
    source = tsv(tmp_path, ["a\tb"])
    out = tmp_path / "out"
    assert not prepare(source, out).skipped
    before = (out / "data-00000.parquet").stat().st_mtime_ns
    assert prepare(source, out).skipped
    os.utime(tmp_path / "a.tsv")  # touched, but the content is the same
    assert prepare(source, out).skipped
    assert (out / "data-00000.parquet").stat().st_mtime_ns == before
    with pytest.raises(ConfigurationError, match=r"another corpus \(different: options\.limit\)"):
        prepare(source, out, options=PrepareOptions(limit=5))
    tsv(tmp_path, ["a\tc"])
    with pytest.raises(ConfigurationError, match=r"inputs\..*a\.tsv.*--overwrite"):
        prepare(source, out)
    assert texts(out) == [("a", "b")]
    assert not prepare(source, out, overwrite=True).skipped
    assert texts(out) == [("a", "c")]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tsv", "out"]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_leaves_nothing_and_takes_nothing(tmp_path, processes, small_chunks):
    good = tsv(tmp_path, ["a\tb"])
    prepare(good, tmp_path / "out")
    bad = tsv(tmp_path, ["a\tb"] * 95 + ["broken", "broken too"] + ["a\tb"] * 50, "bad.tsv")
    with pytest.raises(InputError, match=r"bad\.tsv:96: "):
        prepare(bad, tmp_path / "out", overwrite=True, processes=processes)
    assert texts(tmp_path / "out") == [("a", "b")]
    with pytest.raises(InputError):
        prepare(bad, tmp_path / "new", processes=processes)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tsv", "bad.tsv", "out"]


def test_a_file_cut_off_far_ahead_does_not_hide_an_earlier_mistake(tmp_path, small_chunks):
    rows = [f"{os.urandom(200).hex()}\tb\n" for _ in range(300)]
    whole = gzip.compress("".join(rows).encode())
    broken = gzip.compress("".join([*rows[:25], "broken\n", *rows[25:]]).encode())
    source = Source(path=str(tmp_path / "a.tsv.gz"), **PAIR)
    for processes in (1, 2):
        (tmp_path / "a.tsv.gz").write_bytes(broken[: len(broken) // 2])
        with pytest.raises(InputError, match=r"a\.tsv\.gz:26: 1 columns"):
            prepare(source, tmp_path / "out", processes=processes)
        (tmp_path / "a.tsv.gz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=r"a\.tsv\.gz:1[0-9][0-9]: the packed file is cut off"):
            prepare(source, tmp_path / "out", processes=processes)
    assert not (tmp_path / "out").exists()


def test_all_rows_dropped_is_an_error_with_counts(tmp_path):
    with pytest.raises(ConfigurationError, match=r"no row is left of the 2 .*empty 2"):
        prepare(tsv(tmp_path, ["\ta", "b\t"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_without_a_row(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n\n")
    with pytest.raises(ConfigurationError, match=r"a\.jsonl: no row found"):
        prepare(Source(path=str(tmp_path / "a.jsonl"), **PAIR), tmp_path / "out")


def test_flags_as_a_list_of_names(tmp_path):
    rows = [{"source": "a", "target": "b", "sets": sets} for sets in (["x", "flores"], [], None)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = Source(path=str(tmp_path / "a.jsonl"), columns={"flags": "sets"}, **PAIR)
    summary = prepare(source, tmp_path / "out", options=PrepareOptions(held_out_flags=("flores",)))
    assert (summary.removed, summary.notes) == ({"held_out": 1}, ())


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    with pytest.raises(ConfigurationError, match="not empty and holds no corpus"):
        prepare(tsv(tmp_path, ["a\tb"]), tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "thesis.tex").exists()


def test_mistakes_are_found_before_any_reading(tmp_path):
    source = tsv(tmp_path, ["a\tb"], target_language="tlh")
    options = PrepareOptions(
        held_out_flags=("x",), min_script_share=0.5, held_out_files=(str(tmp_path / "no"),)
    )
    with pytest.raises(ConfigurationError) as caught:
        prepare(source, tmp_path / "out", options=options)
    assert len(caught.value.problems) == 3
    with pytest.raises(ConfigurationError, match=r"holds no tokenizer\.json"):
        prepare(source, tmp_path / "out", options=PrepareOptions(tokenizer=str(tmp_path), min_pieces=1))


def test_held_out_file_and_misspelt_flag(tmp_path):
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress(b"Hello!\n"))
    source = tsv(tmp_path, ["hello\tx\t", "y\tHELLO \tdev", "z\tz\t"], columns={"flags": 2})
    options = PrepareOptions(held_out_files=(str(tmp_path / "test.txt.gz"),), held_out_flags=("dve",))
    summary = prepare(source, tmp_path / "out", options=options)
    assert summary.removed == {"held_out": 2}
    assert summary.notes == ("held_out_flags: no row read is flagged 'dve'; flags: dev",)


@pytest.mark.parametrize(
    ("name", "message"), [("held.tsv", "tsv given"), ("held.jsonl", "jsonl given"), ("held", "held:2: a tab")]
)
def test_a_held_out_table_would_hold_nothing_out(tmp_path, name, message):
    (tmp_path / name).write_text("one\none\teins\n")
    with pytest.raises((ConfigurationError, InputError), match=message):
        prepare(
            tsv(tmp_path, ["one\teins"]),
            tmp_path / "out",
            options=PrepareOptions(held_out_files=(str(tmp_path / name),)),
        )


def test_every_kind_loads_with_its_schema(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    prepare(
        Source(path=str(tmp_path / "a.txt"), language="en"),
        tmp_path / "t",
        options=PrepareOptions(kind="text"),
    )
    assert load_corpus(tmp_path / "t")[:] == {"text": ["one", "two"], "language": ["en", "en"]}
    (tmp_path / "b.txt").write_text("a b ||| c ||| 1-0\n")
    source = Source(path=str(tmp_path / "b.txt"), format="bars", **PAIR)
    prepare(source, tmp_path / "a", options=PrepareOptions(kind="aligned"))
    assert load_corpus(tmp_path / "a")[0]["links"] == [[1, 0]]
    (tmp_path / "c.conllu").write_text("1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\n\n")
    source = Source(path=str(tmp_path / "c.conllu"), language="en")
    prepare(source, tmp_path / "c", options=PrepareOptions(kind="treebank"))
    assert load_corpus(tmp_path / "c")[0]["heads"] == [0]


def test_loading_an_incomplete_folder(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_corpus(tmp_path / "no")
    prepare(tsv(tmp_path, ["a\tb"]), tmp_path / "out")
    (tmp_path / "out" / "data-00000.parquet").unlink()
    with pytest.raises(InputError, match=r"data-00000\.parquet is missing"):
        load_corpus(tmp_path / "out")
    with pytest.raises(ConfigurationError, match=r"damaged corpus \(data-00000\.parquet is missing\)"):
        prepare(tsv(tmp_path, ["a\tb"]), tmp_path / "out")
    (tmp_path / "out" / "manifest.json").unlink()
    with pytest.raises(InputError, match="has no manifest"):
        load_corpus(tmp_path / "out")


@pytest.mark.parametrize("change", [None, lambda data: data[:-9]])
def test_a_changed_shard_is_noticed_although_its_rows_are_unpacked(tmp_path, change):
    source = tsv(tmp_path, [f"a{i}\tb{i}" for i in range(50)])
    prepare(source, tmp_path / "out")
    load_corpus(tmp_path / "out")
    change_unseen(tmp_path / "out" / "data-00000.parquet", change)
    with pytest.raises(InputError, match=r"data-00000\.parquet was changed after it was written"):
        load_corpus(tmp_path / "out")
    with pytest.raises(ConfigurationError, match="add --overwrite to make it again"):
        prepare(source, tmp_path / "out")
    assert not prepare(source, tmp_path / "out", overwrite=True).skipped
    assert len(load_corpus(tmp_path / "out")) == 50


def test_a_changed_shard_of_a_folder_without_hashes_is_unpacked_again(tmp_path):
    for name in ("out", "other"):
        prepare(tsv(tmp_path, [f"{name}\tb"]), tmp_path / name)
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        del manifest["hashes"]  # as earlier releases wrote it
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
    assert texts(tmp_path / "out") == [("out", "b")]
    shard = tmp_path / "out" / "data-00000.parquet"
    shard.write_bytes((tmp_path / "other" / shard.name).read_bytes())
    assert texts(tmp_path / "out") == [("other", "b")]


@pytest.mark.parametrize("changed", ["a.tsv", "held.txt", "tokenizer.json"])
def test_an_input_of_the_same_size_and_time_is_read_again(tmp_path, changed):
    source = tsv(tmp_path, ["one\teins", "two\tzwei"])
    (tmp_path / "held.txt").write_text("two\n")
    core = Tokenizer(models.WordLevel({"one": 0, "two": 1, "eins": 2}, unk_token="eins"))
    core.save(str(tmp_path / "tokenizer.json"))
    options = PrepareOptions(
        held_out_files=[str(tmp_path / "held.txt")], tokenizer=str(tmp_path / "tokenizer.json"), max_pieces=9
    )
    prepare(source, tmp_path / "out", options=options)
    assert prepare(source, tmp_path / "out", options=options).skipped
    for old, new in ((b"one", b"TMP"), (b"two", b"one"), (b"TMP", b"two")):
        change_unseen(tmp_path / changed, lambda data, old=old, new=new: data.replace(old, new))
    with pytest.raises(ConfigurationError, match=rf"inputs\..*{changed}\.blake2b"):
        prepare(source, tmp_path / "out", options=options)


def test_a_manifest_with_times_is_still_recognised(tmp_path):
    source = tsv(tmp_path, ["one\teins"])
    prepare(source, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["inputs"][0]["modified"] = 1  # as earlier releases wrote it
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    assert prepare(source, tmp_path / "out").skipped


def test_an_input_that_changes_while_it_is_read_is_refused(tmp_path):
    source = tsv(tmp_path, ["one\teins"] * 5)

    def edit(*_):
        with (tmp_path / "a.tsv").open("a") as file:
            file.write("two\tzwei\n")

    with pytest.raises(InputError, match=r"a\.tsv: changed while it was read; run the command again"):
        prepare(source, tmp_path / "out", progress=edit)
    assert not (tmp_path / "out").exists()


RUN = """
import signal
import sys
from isoglot.corpus.prepare import prepare
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.read.sources import Source
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background inherits that it is ignored
print("go", flush=True)
try:
    prepare(Source(path=sys.argv[1], source_language="en", target_language="de"), sys.argv[2], processes=2,
            options=PrepareOptions(min_script_share=0.5, duplicates="pair"),
            progress=lambda *p: print("Progress", *p, flush=True))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_no_process_and_no_output(tmp_path, how):
    with (tmp_path / "a.tsv").open("w") as file:
        file.writelines(f"source sentence number {i}\ttarget sentence number {i}\n" for i in range(1_000_000))
    script = tmp_path / "run.py"
    script.write_text(RUN)
    child = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "a.tsv"), str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout.readline() == "go\n"
    assert child.stdout.readline().startswith("Progress")
    workers = psutil.Process(child.pid).children(recursive=True)
    assert len(workers) >= 2
    if how == signal.SIGINT:
        os.killpg(child.pid, how)  # Ctrl-C reaches the whole group
    else:
        child.kill()
    child.communicate(timeout=60)
    assert child.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    assert not (tmp_path / "out").exists()
    if how == signal.SIGINT:
        assert not list(tmp_path.glob(".out*"))


def test_memory_of_parts_is_given_back_while_running(tmp_path, small_chunks, monkeypatch):
    """Part files go as soon as their shard is written."""
    most = 0

    def look(*_):
        nonlocal most
        most = max(most, len(list(tmp_path.glob(".out.*.partial/parts/*"))))

    source = tsv(tmp_path, [f"a{i}\tb" for i in range(600)])
    prepare(source, tmp_path / "out", options=PrepareOptions(shard_rows=20), progress=look)
    manifest = read_manifest(tmp_path / "out")
    assert list(manifest.shards.values()) == [20] * 30
    assert 0 < most <= 3
    assert pq.ParquetFile(tmp_path / "out" / "data-00000.parquet").metadata.num_rows == 20


def test_workers_start_without_heavy_imports():
    code = "import sys, isoglot.corpus.prepare_worker; print({'torch', 'transformers', 'datasets'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_an_input_is_recorded_by_its_content_and_a_stream_is_always_new(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\n", encoding="utf-8")
    before = InputFile.of(str(path))
    os.utime(path, (1, 1))
    assert InputFile.of(str(path)) == before
    path.write_text("two\n", encoding="utf-8")
    assert InputFile.of(str(path)) != before
    for stream in ("-", "/dev/null"):
        assert InputFile.of(stream) != InputFile.of(stream)


def test_a_folder_keeps_its_hash_when_it_is_opened(tmp_path):
    prepare(tsv(tmp_path, ["a\tb"]), tmp_path / "out")
    before = InputFile.of(str(tmp_path / "out"))
    assert len(load_corpus(tmp_path / "out")) == 1
    assert list((tmp_path / "out").glob(".*")), "it is opened by a file beside it"
    assert InputFile.of(str(tmp_path / "out")) == before


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_unpacked_rows_that_are_damaged_are_unpacked_again(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.tsv").write_text("a house\tein Haus\n" * 50)
    prepare(
        Source(path=str(tmp_path / "a.tsv"), source_language="en", target_language="de"), tmp_path / "out"
    )
    rows = load_corpus(tmp_path / "out")[:]
    (kept,) = (tmp_path / "out" / ".cache").glob("*.arrow")
    whole = kept.read_bytes()
    kept.unlink()  # what is mapped into memory stays
    kept.write_bytes(whole[: len(whole) // 2] if damage == "cut" else whole.replace(b"house", b"mouse"))
    assert load_corpus(tmp_path / "out")[:] == rows and "made anew" in caplog.text
    assert kept.read_bytes() == whole
