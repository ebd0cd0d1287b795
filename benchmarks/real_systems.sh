#!/usr/bin/env bash
# What 200 steps of each objective do to a pre-trained encoder: word alignment and retrieval at layer 8, transfer.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/real_systems.sh
#
# After benchmarks/real_encoder.sh, whose aligned pairs it reads. About seven hours of one core.
set -euo pipefail
data=$ISOGLOT_DATA runs=$ISOGLOT_RUNS here=$(dirname "$0")
isoglot trim "$ISOGLOT_ENCODER" --text "$data"/parallel/*.tsv.gz --text "$data"/text/* --out "$runs/trimmed"
measure() {
  isoglot evaluate "$1" -q --run "$2" --task tatoeba --languages de,es,fr,hi,zh --set layer=8 --data "$data/tatoeba" \
    --out "$runs/real_systems.jsonl"
  isoglot evaluate "$1" -q --run "$2" --task word_alignment --set method=argmax --set layer=8 \
    --languages de-en,en-fr,ro-en,en-hi --data "$data/wordalign/{language}.jsonl" --out "$runs/real_systems.jsonl"
  isoglot evaluate "$1" -q --run "$2" --task lexicon_induction --set layer=8 --languages en-de,en-es,en-fr,en-hi,en-zh \
    --data "$data/lexicon/muse.{language}.txt" --out "$runs/real_systems.jsonl"
}
measure "$runs/trimmed" encoder
systems=(mlm tlm weam ppa in_batch xlm_align align_mlm word_l2 self_training combined links_and_contrast)
for name in "${systems[@]}"; do
  isoglot pretrain "$here/real_systems/$name.yaml" --out "$runs/real-$name"
  measure "$runs/real-$name" "$name"
done

# Transfer: fine-tuned on English, tested in other languages.
tune=(-q --language en --set precision=bfloat16 --set warmup=0.1)
for name in encoder "${systems[@]}"; do
  from=$runs/real-$name out=$runs/tasks/$name
  [ "$name" = encoder ] && from=$runs/trimmed
  isoglot finetune "$from" --task pos "${tune[@]}" --set run="$name" --set epochs=1 --set learning_rate=1e-4 \
    --set max_train_examples=4000 --data train="$data/ud/en_ewt-ud-train.conllu.gz" \
    --data dev="$data/ud/en_ewt-ud-dev.conllu" --out "$out/pos"
  isoglot evaluate "$out/pos" -q --task pos --languages en,de,es,fr,hi,zh --precision bfloat16 \
    --data "$data/ud/{language}_pud-ud-{split}.conllu" --out "$runs/real_transfer.jsonl"
  isoglot finetune "$from" --task ner "${tune[@]}" --set run="$name" --set epochs=1 --set learning_rate=1e-4 \
    --set max_train_examples=4000 --data train="$data/wikiann/en/train" --data "dev=$data/wikiann/en/dev#0:10%" --out "$out/ner"
  isoglot evaluate "$out/ner" -q --task ner --languages en,de,fr --precision bfloat16 \
    --data "test=$data/wikiann/{language}/test#0:30%" --out "$runs/real_transfer.jsonl"
  isoglot evaluate "$out/ner" -q --task ner --languages es --precision bfloat16 \
    --data "test=$data/wikiann/es/test.conllu#0:30%" --out "$runs/real_transfer.jsonl"
  isoglot finetune "$from" --task xnli "${tune[@]}" --set run="$name" --set epochs=1 --set learning_rate=5e-5 \
    --set max_train_examples=12000 --set dev_fraction=0.05 --set evaluate_every=null \
    --data train="$data/nli/mnli.en.dev.csv" --data train="$data/nli/snli.en.dev.csv" --out "$out/xnli"
  isoglot evaluate "$out/xnli" -q --task xnli --languages de,es --precision bfloat16 \
    --data "$data/nli/xnli.{language}.test*" --out "$runs/real_transfer.jsonl"
  isoglot finetune "$from" --task xquad "${tune[@]}" --set run="$name" --set epochs=2 --set learning_rate=1e-4 \
    --set batch_size=8 --set evaluate_every=null --set select=last \
    --data train="$data/xquad/xquad.{language}.json#0:80%" --out "$out/xquad"
  isoglot evaluate "$out/xquad" -q --task xquad --languages en,de,es,hi,zh --precision bfloat16 \
    --data test="$data/xquad/xquad.{language}.json#80:100%" --out "$runs/real_transfer.jsonl"
done
isoglot report "$runs/real_systems.jsonl" "$runs/real_transfer.jsonl" --baseline mlm --out "$runs/real_systems.html"
