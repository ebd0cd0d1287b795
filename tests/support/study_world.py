"""A study small enough to run in a test: two systems, one task, one analysis, on a derived language."""

from __future__ import annotations

from pathlib import Path

TEXT = """\
name: toy
title: a toy
values: {transformation: trans+inv, dictionary: 0.5, steps: 2}
data:
  english: {make: world, seed: 1, text: 60, pos: 24, ner: 0, nli: 0, paws: 0, qa: 0, dev: 8, test: 0}
  tokenizer:
    make: tokenizer
    text: [<english>/text/en.train.txt]
    algorithm: wordpiece
    family: roberta
    vocab_size: 150
  derived:
    make: derive
    transform: <transformation>
    tokenizer: <tokenizer>
    inputs:
      text: {path: <english>/trees/text.train.conllu}
      pos.train: {path: <english>/pos/en.train.conllu}
      pos.dev: {path: <english>/pos/en.dev.conllu}
systems:
  mlm:
    recipe: mlm_scratch
    set:
      model:
        hidden_size: 16
        num_hidden_layers: 1
        num_attention_heads: 2
        intermediate_size: 16
        max_position_embeddings: 66
      tokenizer: {algorithm: null, family: null, vocab_size: null, path: <derived>/xx/text/tokenizer}
      streams:
        text:
          sources:
            - {path: <derived>/xx/text/original.txt, language: en}
            - {path: <derived>/xx/text/derived.txt, language: xx}
          pack: {block: 32}
      batch: {examples: 2}
      steps: <steps>
      train: {use_cpu: true, warmup_steps: 0}
  align_mlm:
    like: mlm
    recipe: align_mlm
    set:
      streams: {words: null}
      objectives: {dictionary: {lexicon: null, copied_vocabulary: <derived.copied_vocabulary>, share: <dictionary>}}
tasks:
  pos:
    task: pos
    data: ["<english>/pos/{language}.{split}.conllu", "<derived>/{language}/pos.{split}/derived.conllu"]
    languages: [xx]
    preset: align_mlm
    train: {epochs: 1, select: last}
    split: dev
analyses:
  alignment_score: {type: alignment_score, options: {vocabulary: <derived>/xx/text/tokenizer}}
tables:
  table3:
    paper: align_mlm:Table3
    columns: [pos.sup, pos.zs, pos.delta]
    rows: [{paper: MLM / trans+inv}, {paper: ALIGN-MLM / trans+inv, values: {dictionary: 0.25}}]
  table8:
    paper: align_mlm:Table8
    columns: [alignment]
    rows: [{paper: mlm / trans+inv}]
scales:
  tiny: {about: a test, seeds: [1, 2]}
  paper: {values: {steps: 500000}}
"""


def write_study_file(folder: Path, text: str = TEXT) -> Path:
    """The study's file."""
    path = folder / "toy.yaml"
    path.write_text(text, encoding="utf-8")
    return path
