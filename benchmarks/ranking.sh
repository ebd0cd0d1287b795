#!/usr/bin/env bash
# Eight ways to continue a pre-trained encoder, three seeds each, 32,000 pairs of 33 languages: a ranking with intervals.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/ranking.sh [SEED...]
#
# Word alignment and retrieval at layer 8, nothing chosen; tagging after one epoch of English. About six hours of one core.
# Finished steps are skipped, so that several processes may share the work: what another has begun is left to it.
set -euo pipefail
here=$(dirname "$0") data=$ISOGLOT_DATA runs=$ISOGLOT_RUNS
python "$here/box/pairs.py" "$data" "$ISOGLOT_ENCODER" "$runs/hmm" ar bg bn da de el es fa fi fr he hi hu id is it ja lt lv mk mr ms nl no pl pt ro \
  ru ta tl uk ur zh   # Tatoeba and TICO-19 with the links of the HMM

mkdir -p "$runs/links" "$runs/begun" "$runs/done" "$runs/scores"
sources=
for file in "$runs"/hmm/en-??.jsonl; do
  name=$(basename "$file" .jsonl)
  if [ ! -f "$runs/links/$name.jsonl" ]; then
    shuf -n 1000 --random-source=<(yes) "$file" > "$runs/links/$name.part$$"
    mv "$runs/links/$name.part$$" "$runs/links/$name.jsonl"
  fi
  sources+="{path: $runs/links/$name.jsonl, target_language: ${name#en-}},"
done
if [ ! -d "$runs/trimmed" ]; then
  python -c '
import glob, json, sys
for path in sorted(glob.glob(sys.argv[1] + "/*.jsonl")):
    for line in open(path, encoding="utf-8"):
        pair = json.loads(line)
        print(" ".join(pair["source"]), " ".join(pair["target"]), sep="\n")' "$runs/links" > "$runs/words.txt"
  isoglot trim "$ISOGLOT_ENCODER" --text "$runs/words.txt" "$data"/ud/* "$data"/tatoeba/* --out "$runs/trimmed"
fi

continued() {   # system, seed
  local new=100   # steps in which a new head is trained alone
  case $1 in word_l2 | self_training | links_and_contrast) new=0 ;; esac
  isoglot pretrain "$here/real_systems/$1.yaml" -q --resume --out "$runs/$1-$2" --set seed="$2" --set model.path="$runs/trimmed" \
    --set "streams.bitext.sources=[${sources%,}]" --set streams.bitext.sampling_exponent=null --set batch.examples=32 \
    --set steps=1000 --set parts.freeze_encoder_steps=$new --set train.save_steps=250
}
measured() {   # checkpoint, system, seed
  local scores=$runs/scores/$2-$3.jsonl tagger=$runs/$2-$3-pos
  local common=(-q --run "$2" --out "$scores")
  isoglot evaluate "$1" "${common[@]}" --task tatoeba --languages de,es,fr,hi,zh --set layer=8 --data "$data/tatoeba"
  local links=(--task word_alignment --set method=argmax --set layer=8)
  isoglot evaluate "$1" "${common[@]}" "${links[@]}" --languages de-en,en-fr,ro-en,en-hi --data "$data/wordalign/{language}.jsonl"
  isoglot evaluate "$1" "${common[@]}" "${links[@]}" --languages en-es,en-it,en-nl --data "$data/wordalign/{language}.xlwa.test.jsonl"
  isoglot finetune "$1" --task pos -q --language en --set run="$2" --seed "$3" --set precision=bfloat16 --set warmup=0.1 \
    --set epochs=1 --set learning_rate=1e-4 --set max_train_examples=4000 --data train="$data/ud/en_ewt-ud-train.conllu.gz" \
    --data dev="$data/ud/en_ewt-ud-dev.conllu" --out "$tagger"
  isoglot evaluate "$tagger" "${common[@]}" --task pos --languages en,de,es,fr,hi,zh --precision bfloat16 \
    --data "$data/ud/{language}_pud-ud-{split}.conllu"
}
seeds=("$@")
[ $# -gt 0 ] || seeds=(1 2 3)
for seed in "${seeds[@]}"; do
  for name in encoder self_training tlm mlm links_and_contrast word_l2 weam ppa xlm_align; do
    (
      flock -n 9 && [ ! -f "$runs/done/$name-$seed" ] || exit 0
      checkpoint=$runs/trimmed
      if [ $name != encoder ]; then continued $name "$seed"; checkpoint=$runs/$name-$seed/checkpoint; fi
      measured "$checkpoint" $name "$seed"
      touch "$runs/done/$name-$seed"
    ) 9> "$runs/begun/$name-$seed"
  done
done
