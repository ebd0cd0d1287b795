#!/usr/bin/env bash
# What each part of PPA and XLM-Align does to a pre-trained encoder: Table 5 of PPA, Tables 3 to 7 of XLM-Align.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/real_ablations.sh
#
# After benchmarks/real_systems.sh, whose trimmed encoder, pairs and runs it reads. About four hours of one core.
set -euo pipefail
source "$(dirname "$0")/real_measures.sh"
systems=$runs/real_ablations.jsonl transfer=$runs/real_ablations.jsonl
ablate() {   # a name, a recipe, what of it is replaced
  local name=$1 recipe=$2 options=() item
  for item in "${@:3}"; do options+=(--set "$item"); done
  isoglot pretrain "$recipes/$recipe.yaml" "${options[@]}" --set name="$name" --out "$runs/real-$name"
  for measure in ${measures:?}; do "$measure" "$runs/real-$name" "$name"; done
}
words=objectives.word_alignment

measures="retrieval word_alignment pos ner xnli"
ablate ppa_no_tlm ppa views.pair=null objectives.masked_lm=null
ablate ppa_mlm ppa_mlm
ablate xlm_align_no_dwa xlm_align "$words=null"
ablate xlm_align_no_tlm xlm_align objectives.masked_lm=null

measures="retrieval word_alignment"
ablate xlm_align_again xlm_align   # how much the processor alone makes
for layer in 8 12; do ablate "xlm_align_label_layer_$layer" xlm_align "$words.label_layer=$layer"; done
for layer in 8 10; do ablate "xlm_align_layer_$layer" xlm_align "$words.layer=$layer"; done
ablate xlm_align_union xlm_align "$words.filtering=union"
for queries in unmasked all_aligned; do ablate "xlm_align_$queries" xlm_align "$words.queries=$queries"; done
