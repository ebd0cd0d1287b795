from __future__ import annotations

from pathlib import Path

import pytest
from labelled_files import text_file
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.formats.labelled.sources import DataSource, Location, find_sides


def test_sources(tmp_path: Path) -> None:
    for name in ("de_x-dev.tsv", "de_x-test.tsv", "de_y-test.tsv", "fr.test", "eng.test", "xquad.de.json"):
        (tmp_path / name).touch()
    folder = DataSource([str(tmp_path)])
    assert [Path(p.path).name for p in folder.find("de", "dev")] == ["de_x-dev.tsv"]
    assert [Path(p.path).name for p in folder.find("en", "test")] == ["eng.test"]
    assert [Path(p.path).name for p in folder.find("de", "train")] == ["xquad.de.json"]
    template = DataSource([f"train={tmp_path}/none", f"{tmp_path}/{{language}}_y-{{split}}.tsv#20:80%"])
    assert template.find("de", "test") == [Location(str(tmp_path / "de_y-test.tsv"), 20, 80)]


@pytest.mark.parametrize(
    ("specs", "language", "split", "named"),
    [
        (["."], "de", "test", r"2 test files of 'de' .*test.: .*de_x-test\.tsv"),
        (["{language}_y-{split}.tsv"], "fr", "test", "test data for 'fr'"),
        (["train=none", "{language}_y-{split}.tsv"], "de", "train", "none: "),
        (["nothing"], "de", "test", "nothing: "),
    ],
)
def test_find_names_data_that_it_cannot_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, specs: list[str], language: str, split: str, named: str
) -> None:
    for name in ("de_x-test.tsv", "de_y-test.tsv"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=named):
        DataSource(specs).find(language, split)


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("0:3000", "0:3000 has no % sign"),
        ("20:120%", "20:120% does not lie between 0 and 100 %"),
        ("80:20%", "80:20% is empty"),
    ],
)
def test_a_part_of_a_file_lies_within_100_percent(part: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f": .*{named}.*#0:80%"):
        DataSource([f"a.tsv#{part}"])


def test_a_folder_of_the_language_needs_no_code_in_its_files(tmp_path: Path) -> None:
    (tmp_path / "es").mkdir()
    for name in ("train.conllu", "val.conllu"):
        text_file(tmp_path / "es", name, "x")
    (tmp_path / "spa_Latn").mkdir()
    test = text_file(tmp_path / "spa_Latn", "test.conllu", "x")
    assert [p.path for p in DataSource([f"{tmp_path}/{{code}}"]).find("es", "test")] == [str(test)]
    source = DataSource([f"{tmp_path}/{{language}}"])
    assert [p.path for p in source.find("es", "dev")] == [f"{tmp_path}/es/val.conllu"]
    with refused(ConfigurationError, "test data for 'es'"):
        source.find("es", "test")
    text_file(tmp_path / "es", "train.tsv.gz", "x")
    with refused(
        ConfigurationError,
        "2 train files of 'es' (train.conllu, train.tsv.gz)",
        'data={"train": ',
        "es/train.conllu",
    ):
        source.find("es", "train")


def test_names_of_files_in_a_folder_are_those_that_are_documented(tmp_path: Path) -> None:
    """XTREME's own and its prepared data, Universal Dependencies, WikiANN, the miniature world."""
    names = {
        "test-de.tsv": "panx", "de-test.conllu.xz": "own", "de.test.json": "world", "de_pud-ud-test.conllu": "ud",
        "tydiqa.goldp.de.test.json": "tydiqa/tydiqa-goldp", "test": "wikiann/de", "xquad.de.json": "xquad",
        "test-context-de-question-de.json": "mlqa/MLQA_V1/test", "deu.jsonl": "gold",
    }  # fmt: skip
    for name, folder in names.items():
        place = tmp_path / folder
        place.mkdir(parents=True)
        text_file(place, name, "x")
        text_file(place, name.replace("test", "notes"), "x")
        text_file(place, "readme.md", "x")
        root = tmp_path / Path(folder).parts[0]
        assert [p.path for p in DataSource([str(root)]).find("de", "test")] == [str(place / name)]
    for folder, name in (("gold", "de.dev.jsonl"), ("xquad", "train.de.json")):
        text_file(tmp_path / folder, name, "x")
    assert DataSource([str(tmp_path / "gold")]).find("de", "train")[0].path.endswith("deu.jsonl")
    assert DataSource([str(tmp_path / "xquad")]).find("de", "dev")[0].path.endswith("xquad.de.json")
    with refused(ConfigurationError, "dev data for 'de'", "{language}-{split}.tsv"):
        DataSource([str(tmp_path / "ud")]).find("de", "dev")


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["v1.1-train.json", "v1.1-dev.json"], "v1.1-dev.json"),
        (["v1.1-train.json", "v1.1-dev/tydiqa-goldp-dev-bengali.json", "v1.1-dev/tydiqa-goldp-dev-finnish.json"],
         "v1.1-dev/tydiqa-goldp-dev-bengali.json"),
        (["v1.1-train.json", "v1.1-dev.json", "v1.1-dev/tydiqa.goldp.bn.dev.json"],
         "v1.1-dev/tydiqa.goldp.bn.dev.json"),
    ],
)  # fmt: skip
def test_official_files_of_tydiqa_whose_dev_data_are_its_test_data(
    tmp_path: Path, names: list[str], wanted: str
) -> None:
    for name in names:
        path = tmp_path / f"tydiqa-goldp-{name}"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    source = DataSource([str(tmp_path)])
    splits = {split: source.find("bn", split)[0].path for split in ("train", "dev", "test")}
    assert splits == {
        "train": f"{tmp_path}/tydiqa-goldp-v1.1-train.json",
        **dict.fromkeys(("dev", "test"), f"{tmp_path}/tydiqa-goldp-{wanted}"),
    }
    (tmp_path / "bn.test.json").touch()
    assert source.find("bn", "test")[0].path.endswith("bn.test.json")


def test_sides_of_a_pair_are_found_by_documented_names(tmp_path: Path) -> None:
    made = {
        "tatoeba": ("tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng", "tatoeba.fra-eng.eng"),
        "flores": ("dev/deu_Latn.dev", "dev/eng_Latn.dev", "devtest/deu_Latn.devtest", "devtest/eng_Latn.devtest"),
        "multi30k": ("test_2016_flickr.de.gz", "test_2016_flickr.en.gz", "val.de.gz", "val.en.gz"),
        "plain": ("test.de", "test.en"),
    }  # fmt: skip
    for folder, names in made.items():
        for name in names:
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            text_file(tmp_path / folder, name, "x")
        found = find_sides([str(tmp_path / folder)], ("de", "en"), "test")
        wanted = names[2:] if folder == "flores" else names[:2]
        assert [p.relative_to(tmp_path / folder).as_posix() for p in found] == list(wanted)
    with refused(ConfigurationError, "fr", "0 found"):
        find_sides([str(tmp_path / "tatoeba")], ("fr", "en"), "test")
    given = [str(tmp_path / "a.eng.txt"), str(tmp_path / "b.deu")]
    assert find_sides(given, ("de", "en"), "test") == (Path(given[1]), Path(given[0]))


def test_crossed_languages_of_mlqa(tmp_path: Path) -> None:
    for name in ("test-context-de-question-de.json", "test-context-de-question-es.json"):
        (tmp_path / name).touch()
    source = DataSource([str(tmp_path)])
    assert source.find("de", "test")[0].path.endswith("question-de.json")
    assert source.find("de-es", "test")[0].path.endswith("question-es.json")
