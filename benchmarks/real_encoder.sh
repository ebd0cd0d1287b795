#!/usr/bin/env bash
# A word aligner out of a pre-trained encoder: statistical links, the recipe `aligner`, AER on sets it was not chosen on.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/real_encoder.sh [SEED...]
#
# First round: the HMM teaches. Second round, with two seeds or more: the average of the first round's encoders teaches
# the encoder as it was at first, and the average of that goes on with its own links. Twenty minutes of one core for one
# seed and round. Finished steps are skipped. Nothing of wordalign/ but XL-WA's dev sets is used to choose anything.
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
seeds=("${@:-1}")
average() {   # of the first or the second round
  local folders=("${seeds[@]/#/$1/aligner-}")
  [ -d "$1/average" ] || python "$(dirname "$0")/average.py" "$1/average" "${folders[@]/%//checkpoint}"
  measure "$1/average"
}
for seed in "${seeds[@]}"; do
  isoglot pretrain small/aligner_six --set seed="$seed" --out "$runs/aligner-$seed"
  measure "$runs/aligner-$seed/checkpoint"
done
[ ${#seeds[@]} -gt 1 ] || exit 0
average "$runs"

# Nothing is held out of the second round's pairs: retrieval is not measured on its encoders.
for l in de es fr hi ro zh; do
  ratio=(--max-length-ratio 3)
  [ $l = zh ] && ratio=()
  if [ ! -f "$runs/sample.en-$l.tsv" ]; then
    zcat "$data/parallel/en-$l.tsv.gz" | shuf -n 8000 --random-source=<(yes) > "$runs/sample.part"
    mv "$runs/sample.part" "$runs/sample.en-$l.tsv"
  fi
  isoglot prepare "$runs/sample.en-$l.tsv" --column source=0 --column target=1 --source-lang en --target-lang $l \
    --duplicates pair "${ratio[@]}" --out "$runs/sample-en-$l"
  isoglot align "$runs/sample-en-$l"/*.parquet --words unicode --source-lang en --target-lang $l --model "$runs/average" \
    --format corpus --out "$runs/second/aligned-en-$l"
done
for seed in "${seeds[@]}"; do
  ISOGLOT_RUNS=$runs/second isoglot pretrain small/aligner_six --set seed="$seed" --out "$runs/second/aligner-$seed"
  measure "$runs/second/aligner-$seed/checkpoint"
done
average "$runs/second"
ISOGLOT_RUNS=$runs/second isoglot pretrain small/aligner_six --set model.path="$runs/second/average" --set objectives.links.labels=self \
  --set steps=150 --set train.learning_rate=5e-5 --out "$runs/second/own"
measure "$runs/second/own/checkpoint"
