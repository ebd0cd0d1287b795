#!/usr/bin/env bash
# Sentence vectors from a teacher beside the contrast of the batch: Tatoeba before and after.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/distillation.sh
#
# After benchmarks/align_freeze.sh, whose encoder and pairs it reads. The student is the lowest four
# layers of the trimmed encoder, the teacher the whole encoder as it is. Some twenty minutes of one core. STEPS,
# PAIRS (a batch), LIMIT (pairs a language) and LANGUAGES (of Tatoeba) make it shorter. Finished steps are skipped.
set -euo pipefail
data=$ISOGLOT_DATA runs=$ISOGLOT_RUNS recipes=$(dirname "$0")/real_systems
measure() {
  isoglot evaluate "$1" -q --run "$2" --task tatoeba --set layer=4 --languages "${LANGUAGES:-de,es,fr,hi,zh}" --data "$data/tatoeba" \
    --out "$runs/distillation.jsonl"
}
measure "$runs/trimmed-five" encoder
contrast='objectives.contrast={type: in_batch_contrast, view: sentences, pooling: mean, layer: 4}'
train() { isoglot pretrain "$recipes/distillation.yaml" -q --set steps="${STEPS:-200}" --set batch.examples="${PAIRS:-32}" \
  --set streams.bitext.limit="${LIMIT:-4000}" "$@"; }
train --out "$runs/distilled-mse"
train --set objectives.distillation.distance=cosine --out "$runs/distilled-cosine"
train --set "$contrast" --set objectives.distillation=null --out "$runs/contrasted"
for name in distilled-mse distilled-cosine contrasted; do measure "$runs/$name" "$name"; done
