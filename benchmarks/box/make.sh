#!/usr/bin/env bash
# The aligner of the package, isoglot/models/box.safetensors, taught 31 languages more.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs BOX=before.safetensors benchmarks/box/make.sh
#
# BOX is the file that goes on: of English and 33 languages, made by benchmarks/box.sh of commit 5b7f8fa0. The encoder is
# multilingual-e5-small. Finished steps are skipped, and a training run that was stopped goes on.
set -euo pipefail
here=$(dirname "$0") data=$ISOGLOT_DATA encoder=$ISOGLOT_ENCODER runs=$ISOGLOT_RUNS
old="ar bg bn da de el es fa fi fr he hi hu id is it ja lt lv mk mr ms nl no pl pt ro ru ta tl uk ur zh"
new="af am az be ca cs cy et eu ga gl ha hr hy ka km ko ku my ne om ps sl so sq sr sv sw th tr vi"
run() { python "$here/$1.py" "${@:2}"; }
train() {   # recipe, name, more
  [ -d "$runs/$2/checkpoint" ] || isoglot pretrain "$here/$1.yaml" --out "$runs/$2" "${@:3}" $([ -d "$runs/$2" ] && echo --resume)
}

# The box's layers, those of the vectors of sentences included, on all pieces; Tatoeba's and TICO-19's pairs.
[ -d "$runs/before" ] || isoglot pack "$BOX" --out "$runs/before"
run weights stack "$runs/begin" "$encoder" "$runs/before"
run pairs "$data" "$encoder" "$runs/hmm" --most 6000

# A sixth round, drawn back to the box.
run labels "$runs/hmm" "$runs/begin" "$runs/sixth-links" --seed 16 --count 400 $new
run labels "$runs/hmm" "$runs/begin" "$runs/sixth-links" --seed 16 --count 200 $old
run pivots "$data" "$runs/begin" "$runs/sixth-links/pivots.jsonl" --seed 16 --count 1600
ISOGLOT_ENCODER=$runs/begin BOX_LINKS=$runs/sixth-links train aligner sixth --set steps=400 --set seed=16
for share in 1.0 0.8 0.6; do
  run weights mix "$runs/sixth-$share" "$runs/sixth/checkpoint" "$runs/begin" $share
  run measure "$data" "$runs/sixth-$share" dev --pud 100 --dtype bfloat16 --only adjacent --keep
done
drawn=$runs/sixth-0.6   # the best of the three; its layer, method and threshold stay

# The upper layers learn again on the new lower ones.
BOX_STACKED=$drawn BOX_TEXT=$runs/hmm train sentences sentences --set steps=200 --set train.learning_rate=1e-4 --set seed=6

# The file: 196,000 pieces, which are all that text of the languages uses, every single character, and the most probable others.
run vocabulary keep "$encoder" "$runs/base" 196000 "$data"/parallel/*.tsv.gz
run weights stack "$runs/final" "$runs/base" "$runs/sentences/checkpoint"
cp "$runs/before/aligner.json" "$runs/final/"
cp "$here/../../src/isoglot/models/box.md" "$runs/final/README.md"
[ -f "$runs/box.safetensors" ] || isoglot pack "$runs/final" --out "$runs/box.safetensors" --sentences "$runs/final"

box=$runs/box.safetensors
run vocabulary check "$encoder" "$runs/base" "$data"/parallel/*.tsv.gz
run measure "$data" "$box" test
run directions "$data" --model "$box" --encoder "$encoder"
run retrieval "$data" "$encoder" "$box" --count 400 --dtype bfloat16
run agreement "$data" "$encoder" "$BOX" "$box" --count 100
