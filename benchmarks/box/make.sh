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

[ -d "$runs/before" ] || isoglot pack "$BOX" --out "$runs/before"
run vocabulary keep "$encoder" "$runs/base" 196000 "$data"/parallel/*.tsv.gz
run weights stack "$runs/begin" "$runs/base" "$runs/before"
run pairs "$data" "$encoder" "$runs/hmm" --most 6000

round() {   # name, teacher, start, pairs of a new and of an old language, of two languages without English, steps, seed
  run labels "$runs/hmm" "$2" "$runs/$1-links" --seed "$8" --count "$4" $new
  run labels "$runs/hmm" "$2" "$runs/$1-links" --seed "$8" --count "$5" $old
  [ "$6" = 0 ] || run pivots "$data" "$2" "$runs/$1-links/pivots.jsonl" --count "$6" --seed "$8"
  ISOGLOT_ENCODER=$3 BOX_LINKS=$runs/$1-links train aligner "$1" --set steps="$7" --set seed="$8"
}
round sixth "$runs/begin" "$runs/begin" 400 200 0 400 16
run weights mix "$runs/sixth-drawn" "$runs/sixth/checkpoint" "$runs/begin" 0.8
run measure "$data" "$runs/sixth-drawn" dev --pud 100 --keep --only adjacent
