"""Content is what counts: hashes are remembered only where a file cannot have changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.runs import fingerprint as module
from isoglot.runs.cache import cache_folder
from isoglot.runs.files import digest_of
from isoglot.runs.fingerprint import fingerprint, forget, remembered_digest


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read; every size counts as large, and a file is settled at once."""
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "_SMALL", 0)
    monkeypatch.setattr(module, "_SETTLED", -1e9)
    seen: list[Path] = []

    def counted(paths: list[Path], **how: object) -> str:
        seen.extend(paths)
        return digest_of(paths, **how)

    monkeypatch.setattr(module, "digest_of", counted)
    return seen


def test_an_unchanged_file_is_read_once(tmp_path: Path, reads: list[Path]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    assert fingerprint(path) == fingerprint(str(path)) == digest_of([path], size=16)
    assert reads == [path]
    assert remembered_digest([path], size=8) != fingerprint(path), "another size is another hash"


def test_the_same_size_and_time_are_no_proof(tmp_path: Path, reads: list[Path]) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("one")
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    first = fingerprint(path)
    path.write_text("two")  # in place: the change time tells
    os.utime(path, ns=times)
    second = fingerprint(path)
    other.write_text("six")  # as `rsync -t` puts it there: the inode tells
    os.utime(other, ns=times)
    other.replace(path)
    assert len({first, second, fingerprint(path)}) == 3


def test_a_link_stands_for_what_it_leads_to(tmp_path: Path, reads: list[Path]) -> None:
    (tmp_path / "one").write_text("one")
    (tmp_path / "two").write_text("two")
    link = tmp_path / "link"
    link.symlink_to("one")
    assert fingerprint(link) == fingerprint(tmp_path / "one")
    link.unlink()
    link.symlink_to("two")
    assert fingerprint(link) == fingerprint(tmp_path / "two")
    # a name that counts is the link's own
    assert remembered_digest([link], size=8, named=True) != remembered_digest(
        [tmp_path / "two"], size=8, named=True
    )


def test_a_young_file_is_read_again(
    tmp_path: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SETTLED", 3600.0)
    path = tmp_path / "a.txt"
    path.write_text("one")
    os.utime(path, (0, 0))  # an old time of content, set just now
    assert fingerprint(path) == fingerprint(path)
    assert reads == [path, path] and not cache_folder().exists()


def test_a_file_that_changes_while_it_is_read_is_not_remembered(
    tmp_path: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")

    def changing(paths: list[Path], **how: object) -> str:
        found = digest_of(paths, **how)
        path.write_text("three")
        return found

    monkeypatch.setattr(module, "digest_of", changing)
    fingerprint(path)
    monkeypatch.setattr(module, "digest_of", digest_of)
    assert fingerprint(path) == digest_of([path], size=16)


def test_small_files_are_always_read(
    tmp_path: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SMALL", 4)
    path = tmp_path / "a.txt"
    path.write_text("one")
    assert fingerprint(path) == fingerprint(path)
    assert reads == [path, path]


def test_all_hashes_can_be_forgotten(tmp_path: Path, reads: list[Path]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    fingerprint(path)
    (entry,) = (cache_folder() / "hashes").iterdir()
    own = entry.with_name("mine.json")
    own.write_text("{}")
    forget()
    assert own.exists() and not entry.exists()
    fingerprint(path)
    assert reads == [path, path]
    entry.unlink()
    entry.mkdir()  # stands for one that may not be deleted
    with refused(ConfigurationError, "/hashes/", "ISOGLOT_CACHE"):
        forget()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"states": 3}', "\x00"])
def test_a_damaged_cache_is_done_without(
    tmp_path: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    right = fingerprint(path)
    (entry,) = (cache_folder() / "hashes").iterdir()
    entry.write_text(content)
    assert fingerprint(path) == right
    (tmp_path / "file").touch()
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "file"))  # nothing can be written below a file
    assert fingerprint(path) == right


def test_a_folder_is_its_files_with_their_names(tmp_path: Path, reads: list[Path]) -> None:
    folder = tmp_path / "data"
    (folder / "en").mkdir(parents=True)
    (folder / "en" / "a.txt").write_text("one")
    (folder / "b.txt").write_text("two")
    first = fingerprint(folder)
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x").write_text("rows")
    assert fingerprint(folder) == first
    (folder / "en").rename(folder / "de")
    second = fingerprint(folder)
    (folder / "b.txt").write_text("")
    (folder / "de" / "a.txt").write_text("twoone")  # the same bytes one after another
    assert len({first, second, fingerprint(folder)}) == 3


def test_the_cache_may_be_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOGLOT_CACHE", "~/c")
    assert cache_folder() == Path.home() / "c"
    monkeypatch.delenv("ISOGLOT_CACHE")
    monkeypatch.setenv("HF_DATASETS_CACHE", "/x/datasets")
    assert cache_folder() == Path("/x/datasets/isoglot")
    monkeypatch.delenv("HF_DATASETS_CACHE")
    monkeypatch.setenv("HF_HOME", "/x")
    assert cache_folder() == Path("/x/datasets/isoglot")
