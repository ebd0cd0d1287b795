#!/usr/bin/env bash
# A word aligner out of a pre-trained encoder: statistical links, the recipe `aligner`, AER on sets it was not chosen on.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/real_encoder.sh [SEED...]
#
# Thirty minutes of one core for one seed. Finished steps are skipped. Nothing of wordalign/ but XL-WA's dev sets is
# used to choose anything.
set -euo pipefail
data=$ISOGLOT_DATA runs=$ISOGLOT_RUNS gold=$ISOGLOT_DATA/wordalign
for l in de es fr hi ro zh; do
  ratio=(--max-length-ratio 3)
  [ $l = zh ] && ratio=()   # Chinese is not written with spaces, and the ratio counts words
  isoglot prepare "$data/parallel/en-$l.tsv.gz" --column source=0 --column target=1 --column flags=3 --source-lang en \
    --target-lang $l --held-out-flag laser_tatoeba --held-out-flag ntrex --duplicates pair "${ratio[@]}" --out "$runs/en-$l"
  isoglot align "$runs/en-$l"/*.parquet --words unicode --source-lang en --target-lang $l --method hmm --lowercase \
    --symmetrise intersect --format corpus --out "$runs/aligned-en-$l"
done

dev=()
for pair in en-es en-it en-nl; do dev+=(--gold "$gold/$pair.xlwa.dev.jsonl"); done
measure() {   # a checkpoint: choose layer and method on the dev sets, then score the test sets
  isoglot tune "$1" "${dev[@]}"
  layer=$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["layer"])' "$1/aligner.json")
  for pair in de-en en-fr ro-en en-hi en-es.xlwa.test en-it.xlwa.test en-nl.xlwa.test; do
    echo "$1 $pair"
    isoglot score --layers "$layer" --model "$1" --gold "$gold/$pair.jsonl"
  done
}

[ -d "$runs/encoder" ] || cp -r "$ISOGLOT_ENCODER" "$runs/encoder"   # `tune` leaves a file in the folder
measure "$runs/encoder"
for seed in "${@:-1}"; do
  isoglot pretrain small/aligner_six --set seed="$seed" --out "$runs/aligner-$seed"
  measure "$runs/aligner-$seed/checkpoint"
done
