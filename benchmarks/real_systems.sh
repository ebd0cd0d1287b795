#!/usr/bin/env bash
# What 200 steps of each objective do to a pre-trained encoder: word alignment and retrieval at layer 8, transfer.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/real_systems.sh
#
# After benchmarks/real_encoder.sh, whose aligned pairs it reads. About seven hours of one core.
set -euo pipefail
source "$(dirname "$0")/real_measures.sh"
isoglot trim "$ISOGLOT_ENCODER" --text "$data"/parallel/*.tsv.gz --text "$data"/text/* --out "$runs/trimmed"
names=(encoder mlm tlm weam ppa in_batch xlm_align align_mlm word_l2 self_training combined links_and_contrast)
for name in "${names[@]}"; do
  run=$runs/real-$name
  if [ "$name" = encoder ]; then run=$runs/trimmed; else isoglot pretrain "$recipes/$name.yaml" --out "$run"; fi
  for measure in retrieval word_alignment lexicon pos ner xnli xquad; do "$measure" "$run" "$name"; done
done
isoglot report "$systems" "$transfer" --baseline mlm --out "$runs/real_systems.html"
