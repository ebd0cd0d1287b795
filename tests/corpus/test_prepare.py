"""`prepare` from files to a corpus: counts, order, determinism, and that nothing is left behind on error."""

import gzip
import json
import os

import pytest
from edits import change_unseen
from reading import PAIR, texts, tsv
from refusals import refused
from tokenizers import Tokenizer, models

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.manifest import load_corpus
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source


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


def test_possible_links_are_left_out_and_counted(tmp_path, small_chunks):
    lines = ["a b\tc d\t0-0 1p1 1?0", *["a\tb\t0-0"] * 20, "e\tf\t0p0"]
    summary = prepare(tsv(tmp_path, lines), tmp_path / "out", options=PrepareOptions(kind="aligned"))
    assert summary.notes == ("3 possible links (`ipj`) are left out; write `i-j` to learn from them",)
    assert load_corpus(tmp_path / "out")["links"][0] == [[0, 0]]


def test_rows_behind_the_first_n_are_not_read(tmp_path, small_chunks):
    lines = [f"s{i}\tt{i}" for i in range(50)] + ["broken"]
    source = tsv(tmp_path, lines)
    for processes in (1, 2):
        out = tmp_path / f"out{processes}"
        assert prepare(source, out, options=PrepareOptions(limit=15), processes=processes).read == 20
    with refused(InputError, "a.tsv:51: 1 columns", "column 1 "):
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


def test_a_second_run_is_skipped_until_something_changes(tmp_path):
    source = tsv(tmp_path, ["a\tb"])
    out = tmp_path / "out"
    assert not prepare(source, out).skipped
    before = (out / "data-00000.parquet").stat().st_mtime_ns
    assert prepare(source, out).skipped
    os.utime(tmp_path / "a.tsv")  # touched, but the content is the same
    assert prepare(source, out).skipped
    assert (out / "data-00000.parquet").stat().st_mtime_ns == before
    with refused(ConfigurationError, "/out: ", "different: options.limit)"):
        prepare(source, out, options=PrepareOptions(limit=5))
    tsv(tmp_path, ["a\tc"])
    with refused(ConfigurationError, "inputs.", "a.tsv.blake2b", "overwrite=True"):
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
    with refused(InputError, "bad.tsv:96: "):
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
        with refused(InputError, "a.tsv.gz:26: 1 columns", "column 1 "):
            prepare(source, tmp_path / "out", processes=processes)
        (tmp_path / "a.tsv.gz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=r"a\.tsv\.gz:1[0-9][0-9]: the compressed file is cut off"):
            prepare(source, tmp_path / "out", processes=processes)
    assert not (tmp_path / "out").exists()


def test_all_rows_dropped_is_an_error_with_counts(tmp_path):
    with refused(ConfigurationError, "of the 2 ", "empty 2"):
        prepare(tsv(tmp_path, ["\ta", "b\t"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_without_a_row(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n\n")
    with refused(ConfigurationError, "a.jsonl: ", "row"):
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
    with refused(ConfigurationError, "/out: ", "`out`"):
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
    with refused(ConfigurationError, "tokenizer.json"):
        prepare(source, tmp_path / "out", options=PrepareOptions(tokenizer=str(tmp_path), min_pieces=1))


def test_held_out_file_and_misspelt_flag(tmp_path):
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress(b"Hello!\n"))
    source = tsv(tmp_path, ["hello\tx\t", "y\tHELLO \tdev", "z\tz\t"], columns={"flags": 2})
    options = PrepareOptions(held_out_files=(str(tmp_path / "test.txt.gz"),), held_out_flags=("dve",))
    summary = prepare(source, tmp_path / "out", options=options)
    assert summary.removed == {"held_out": 2}
    assert summary.notes == ("held_out_flags: no row read is flagged 'dve'; flags: dev",)


@pytest.mark.parametrize(
    ("name", "message"),
    [("held.tsv", "got tsv"), ("held.jsonl", "got jsonl"), ("held", "held:2: found a tab")],
)
def test_a_held_out_table_would_hold_nothing_out(tmp_path, name, message):
    (tmp_path / name).write_text("one\none\teins\n")
    with pytest.raises((ConfigurationError, InputError), match=message):
        prepare(
            tsv(tmp_path, ["one\teins"]),
            tmp_path / "out",
            options=PrepareOptions(held_out_files=(str(tmp_path / name),)),
        )


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
    with refused(ConfigurationError, "inputs.", f"{changed}.blake2b"):
        prepare(source, tmp_path / "out", options=options)


def test_an_input_that_changes_while_it_is_read_is_refused(tmp_path):
    source = tsv(tmp_path, ["one\teins"] * 5)

    def edit(*_):
        with (tmp_path / "a.tsv").open("a") as file:
            file.write("two\tzwei\n")

    with refused(InputError, "a.tsv: ", "changed"):
        prepare(source, tmp_path / "out", progress=edit)
    assert not (tmp_path / "out").exists()


def test_removed_control_characters_and_what_a_corpus_has_no_room_for_are_counted(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("I don\u0092t know\tIch weiß nicht\nThe\0is\tDas ist\nplain\tglatt\n", encoding="utf-8")
    summary = prepare(Source(path=str(path), **PAIR), tmp_path / "a")
    first, second = summary.notes
    assert first == "rows from which control characters were removed: 2"
    assert "U+0080 to U+009F, which were removed: 1" in second and "`iconv -f cp1252 -t utf-8`" in second

    memory = tmp_path / "m.tmx"
    unit = '<tu{}>{}<tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>Haus</seg></tuv></tu>'
    units = [
        unit.format(' tuid="7"', "", "a"),
        unit.format("", "<note>n</note>", "b"),
        unit.format("", "", "c"),
    ]
    memory.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{"".join(units)}</body></tmx>')
    (note,) = prepare(Source(path=str(memory), **PAIR), tmp_path / "m").notes
    assert note.startswith("units whose id, tags, notes or properties are left out: 2;")
