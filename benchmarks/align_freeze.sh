#!/usr/bin/env bash
# AlignFreeze (Bakos et al. 2025) in small: tagging in five languages after realignment of all layers, the upper or the lower.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/align_freeze.sh [SEED...]
#
# Realigned on 4,000 pairs a language with fast_align's intersected links, then fine-tuned on 4,000 sentences of English
# EWT and tested on PUD. Some half an hour of one core a seed. STEPS and PAIRS (a batch) make it
# shorter. Finished steps are skipped.
set -euo pipefail
source "$(dirname "$0")/real_measures.sh"
[ -d "$runs/trimmed-five" ] ||
  isoglot trim "$ISOGLOT_ENCODER" --text "$data"/parallel/en-{de,es,fr,hi,zh}.tsv.gz --out "$runs/trimmed-five"
for l in de es fr hi zh; do
  isoglot prepare "$data/parallel/en-$l.tsv.gz" --column source=0 --column target=1 --column flags=3 --source-lang en \
    --target-lang $l --held-out-flag laser_tatoeba --duplicates pair --limit 4000 --out "$runs/few-en-$l"
  isoglot align "$runs/few-en-$l"/*.parquet --words unicode --source-lang en --target-lang $l --method fast_align \
    --symmetrise intersect --format corpus --out "$runs/fast-en-$l"
done
declare -A frozen=([realigned]=0 [front_frozen]=6 [back_frozen]=-6)
for seed in "${@:-1}"; do
  tune=(-q --language en --set precision=bfloat16 --set warmup=0.1 --seed "$seed")
  pos "$runs/trimmed-five" "encoder-$seed"
  for name in realigned front_frozen back_frozen; do
    isoglot pretrain "$recipes/align_freeze.yaml" --set seed="$seed" --set parts.freeze_layers="${frozen[$name]}" \
      --set steps="${STEPS:-200}" --set batch.examples="${PAIRS:-16}" \
      --out "$runs/$name-$seed"
    pos "$runs/$name-$seed" "$name-$seed"
  done
done
