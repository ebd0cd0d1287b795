import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import rows, write
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.formats import line_files as streams
from isoglot.formats.readers import read
from isoglot.formats.sources import Source


def test_csv_with_line_ends_in_quotes(tmp_path):
    path = write(tmp_path, "a.csv", 'source,target\n"a\nb","c, ""d"""\ne,f\n')
    assert [(r["source"], r["target"]) for r in rows(path, header=True)] == [("a\nb", 'c, "d"'), ("e", "f")]
    with refused(InputError, "b.csv:4: 1 columns"):
        rows(write(tmp_path, "b.csv", 'source,target\n"a\nb",c\nd\n'), header=True)
    with refused(InputError, "c.csv:2: "):
        rows(write(tmp_path, "c.csv", 'a,b\n"c,d\n'))


def test_cells_hold_no_records(tmp_path):
    path = write(tmp_path, "a.tsv", "translation\tde\na\tb\n")
    with refused(InputError, "a.tsv:1: ", "'source' ", "'translation', 'de'"):
        rows(path, header=True)
    with refused(InputError, "a.tsv:1: ", "'translation.en' ", "source"):
        rows(path, header=True, columns={"source": "translation.en"})
    path = write(tmp_path, "b.tsv", "translation.en\tde\na\tb\n")
    assert [row["source"] for row in rows(path, header=True)] == ["a"]


def test_jsonl(tmp_path):
    records = [{"source": "one", "target": "eins"}, {"source": "two", "target": None}]
    path = write(tmp_path, "a.jsonl", "\n\n".join(map(json.dumps, records)))
    assert [(r["source"], r["target"]) for r in rows(path)] == [("one", "eins"), ("two", "")]
    nested = write(tmp_path, "b.jsonl", json.dumps({"translation": {"en": "one", "de": "eins"}}))
    assert rows(nested)[0]["target"] == "eins"
    assert rows(nested, kind="text", columns={"text": "translation.de"}) == [
        {"text": "eins", "language": "en"}
    ]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('{"source": "a", "target"', "JSON"),
        ("[1, 2]", "JSON list"),
        ('{"source": "a"}', "column 'target'"),
        ('{"source": 5, "target": "b"}', "source is 5"),
        ('{"source": "a", "target": "b", "source": "c"}', "'source' is repeated"),
        ('{"source": "a", "target": "b", "x": [{"y": 1, "y": 1}]}', "'y' is repeated"),
    ],
)
def test_jsonl_names_the_line_that_is_no_record(tmp_path, line, named):
    path = write(tmp_path, "a.jsonl", f'{{"source": "a", "target": "b"}}\n\n{line}\n')
    with pytest.raises(InputError, match=rf"a\.jsonl:3: .*{named}"):
        rows(path)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_columns_of_jsonl_do_not_depend_on_the_chunks(tmp_path, monkeypatch, most):
    monkeypatch.setattr(streams.LineFile.take, "__defaults__", (most, 1 << 20))
    lines = ["", *(json.dumps({name: "a", "content": "b"}) for name in ("content", "text"))]
    assert [r["text"] for r in rows(write(tmp_path, "a.jsonl", "\n".join(lines)), "text")] == ["b", "b"]
    path = write(tmp_path, "b.jsonl", "".join(json.dumps({name: "a"}) + "\n" for name in ("text", "content")))
    with refused(InputError, "b.jsonl:2: ", "'text'"):
        rows(path, "text")


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"translation": [{"en": "one", "de": "eins"}] * 3, "other": [1, 2, 3]}), path)
    assert [r["target"] for r in rows(path)] == ["eins"] * 3
    with refused(InputError, "a.parquet:1: ", "'translation.fr'"):
        rows(path, columns={"target": "translation.fr"})
    (tmp_path / "b.parquet").write_bytes(b"no")
    with refused(InputError, "b.parquet: ", "Parquet"):
        rows(tmp_path / "b.parquet")


def test_arrow_opens_parquet_itself(tmp_path, monkeypatch):
    """A Python handle would be freed in a thread of Arrow's: after the interpreter's end, that aborts the process."""
    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"source": [1, 2], "target": ["a", "b"]}), path)
    handles = []
    monkeypatch.setattr(
        pq, "ParquetFile", lambda file, real=pq.ParquetFile: handles.append(file) or real(file)
    )
    with refused(InputError, "numbers.parquet:1: ", "source is 1"):
        rows(path)
    assert [type(handle) for handle in handles] == [pa.OSFile] and handles[0].closed


def test_huggingface_folders(tmp_path):
    data = datasets.Dataset.from_dict({"en": ["one", "two"], "de": ["eins", "zwei"]})
    data.save_to_disk(str(tmp_path / "plain"))
    assert [r["target"] for r in rows(tmp_path / "plain")] == ["eins", "zwei"]
    datasets.DatasetDict({"train": data, "test": data.select([1])}).save_to_disk(str(tmp_path / "splits"))
    assert [r["target"] for r in rows(tmp_path / "splits", split="test")] == ["zwei"]
    (tmp_path / "files").mkdir()
    data.to_parquet(str(tmp_path / "files" / "train.parquet"))
    assert [r["target"] for r in rows(tmp_path / "files")] == ["eins", "zwei"]
    with refused(InputError, "split 'dev'"):
        rows(tmp_path / "splits", split="dev")


def test_a_saved_data_set_is_one_split(tmp_path):
    datasets.Dataset.from_dict({"source": ["a"], "target": ["b"]}).save_to_disk(tmp_path / "saved")
    assert len(rows(tmp_path / "saved")) == 1
    with refused(InputError, "leave split out"):
        rows(tmp_path / "saved", split="dev")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_header_alone(tmp_path, name):
    text = {"a.csv": "source,target\n", "a.tsv": "source\ttarget"}[name]
    with refused(InputError, f"{name}:", "empty", "header"):
        rows(write(tmp_path, name, text), header=True)


@pytest.mark.parametrize("value", ["[" * 200_000, "1" * 5000, '"\\ud800"'])
def test_json_that_python_cannot_hold(tmp_path, value):
    path = write(
        tmp_path, "a.jsonl", f'{{"source": "a", "target": "b"}}\n{{"source": {value}, "target": "b"}}\n'
    )
    with refused(InputError, "a.jsonl:2: ", "JSON"):
        list(read(Source(path=str(path), source_language="en", target_language="de")))
