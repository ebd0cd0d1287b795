#!/usr/bin/env bash
# Ways to start the embeddings of new pieces for Tamil, which the encoder cuts into 2.4 pieces a word.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/new_pieces.sh [INIT...]
#
# Loss after 100 steps, and retrieval of 400 pairs that are held out, by the last layer. `none`: no new piece. STEPS and
# PAIRS (a batch) make it shorter. Finished steps are skipped.
set -euo pipefail
data=$ISOGLOT_DATA runs=$ISOGLOT_RUNS recipe=$(dirname "$0")/real_systems/new_pieces.yaml
[ -f "$runs/en-ta.tsv" ] || zcat "$data/parallel/en-ta.tsv.gz" | cut -f 1,2 | awk -F '\t' '!seen[$1]++' > "$runs/en-ta.tsv"
[ -f "$runs/train.en-ta.tsv" ] || head -n -400 "$runs/en-ta.tsv" > "$runs/train.en-ta.tsv"
[ -f "$runs/test.en-ta.tsv" ] || tail -n 400 "$runs/en-ta.tsv" > "$runs/test.en-ta.tsv"
isoglot prepare "$runs/test.en-ta.tsv" -q --source-lang en --target-lang ta --out "$runs/test-en-ta"
isoglot trim "$ISOGLOT_ENCODER" -q --text "$runs/train.en-ta.tsv" --out "$runs/trimmed-ta"
isoglot align "$runs/train.en-ta.tsv" -q --words unicode --source-lang en --target-lang ta --method fast_align \
  --symmetrise intersect --format corpus --out "$runs/aligned-en-ta"
[ $# -gt 0 ] || set -- none random mean focus lexicon
for init in "$@"; do
  new="model.new_pieces={language: ta, count: 2000, init: $init}"
  [ "$init" = lexicon ] && new="model.new_pieces={language: ta, count: 2000, init: lexicon, lexicon: bitext}"
  [ "$init" = none ] && new="model.new_pieces=null"
  isoglot pretrain "$recipe" --set "$new" --set steps="${STEPS:-100}" --set batch.examples="${PAIRS:-16}" \
    --out "$runs/new-pieces-$init"
  isoglot evaluate "$runs/new-pieces-$init" -q --run "$init" --task tatoeba --languages ta \
    --data "$runs"/test-en-ta/*.parquet --out "$runs/new_pieces.jsonl"
done
