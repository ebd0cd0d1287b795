#!/usr/bin/env bash
# What 200 steps of each objective do to a pre-trained encoder: word alignment and retrieval at layer 8.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/real_systems.sh
#
# After benchmarks/real_encoder.sh, whose aligned pairs it reads. About an hour of one core.
set -euo pipefail
data=$ISOGLOT_DATA runs=$ISOGLOT_RUNS here=$(dirname "$0")
isoglot trim "$ISOGLOT_ENCODER" --text "$data"/parallel/*.tsv.gz --text "$data"/text/* --out "$runs/trimmed"
measure() {
  isoglot evaluate "$1" -q --run "$2" --task tatoeba --languages de,es,fr,hi,zh --set layer=8 --data "$data/tatoeba" \
    --out "$runs/real_systems.jsonl"
  isoglot evaluate "$1" -q --run "$2" --task word_alignment --set method=argmax --set layer=8 \
    --languages de-en,en-fr,ro-en,en-hi --data "$data/wordalign/{language}.jsonl" --out "$runs/real_systems.jsonl"
}
measure "$runs/trimmed" encoder
for name in mlm tlm weam ppa xlm_align align_mlm word_l2 self_training combined; do
  isoglot pretrain "$here/real_systems/$name.yaml" --out "$runs/real-$name"
  measure "$runs/real-$name" "$name"
done
isoglot report "$runs/real_systems.jsonl" --baseline encoder --out "$runs/real_systems.html"
