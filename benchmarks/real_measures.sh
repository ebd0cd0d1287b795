# What is measured of a continued encoder; read by real_systems.sh and real_ablations.sh, not run by itself.
#
# Every function takes the encoder's folder and the name its figures go by.
data=$ISOGLOT_DATA runs=$ISOGLOT_RUNS recipes=$(dirname "${BASH_SOURCE[0]}")/real_systems
systems=$runs/real_systems.jsonl transfer=$runs/real_transfer.jsonl
tune=(-q --language en --set precision=bfloat16 --set warmup=0.1)

retrieval() {
  isoglot evaluate "$1" -q --run "$2" --task tatoeba --languages de,es,fr,hi,zh --set layer=8 --data "$data/tatoeba" \
    --out "$systems"
}
word_alignment() {
  isoglot evaluate "$1" -q --run "$2" --task word_alignment --set method=argmax --set layer=8 \
    --languages de-en,en-fr,ro-en,en-hi --data "$data/wordalign/{language}.jsonl" --out "$systems"
}
lexicon() {
  isoglot evaluate "$1" -q --run "$2" --task lexicon_induction --set layer=8 --languages en-de,en-es,en-fr,en-hi,en-zh \
    --data "$data/lexicon/muse.{language}.txt" --out "$systems"
}

# Transfer: fine-tuned on English, tested in other languages.
pos() {
  isoglot finetune "$1" --task pos "${tune[@]}" --set run="$2" --set epochs=1 --set learning_rate=1e-4 \
    --set max_train_examples=4000 --data train="$data/ud/en_ewt-ud-train.conllu.gz" \
    --data dev="$data/ud/en_ewt-ud-dev.conllu" --out "$runs/tasks/$2/pos"
  isoglot evaluate "$runs/tasks/$2/pos" -q --task pos --languages en,de,es,fr,hi,zh --precision bfloat16 \
    --data "$data/ud/{language}_pud-ud-{split}.conllu" --out "$transfer"
}
ner() {
  isoglot finetune "$1" --task ner "${tune[@]}" --set run="$2" --set epochs=1 --set learning_rate=1e-4 \
    --set max_train_examples=4000 --data train="$data/wikiann/en/train" --data "dev=$data/wikiann/en/dev#0:10%" \
    --out "$runs/tasks/$2/ner"
  isoglot evaluate "$runs/tasks/$2/ner" -q --task ner --languages en,de,fr --precision bfloat16 \
    --data "test=$data/wikiann/{language}/test#0:30%" --out "$transfer"
  isoglot evaluate "$runs/tasks/$2/ner" -q --task ner --languages es --precision bfloat16 \
    --data "test=$data/wikiann/es/test.conllu#0:30%" --out "$transfer"
}
xnli() {
  isoglot finetune "$1" --task xnli "${tune[@]}" --set run="$2" --set epochs=1 --set learning_rate=5e-5 \
    --set max_train_examples=12000 --set dev_fraction=0.05 --set evaluate_every=null \
    --data train="$data/nli/mnli.en.dev.csv" --data train="$data/nli/snli.en.dev.csv" --out "$runs/tasks/$2/xnli"
  isoglot evaluate "$runs/tasks/$2/xnli" -q --task xnli --languages de,es --precision bfloat16 \
    --data "$data/nli/xnli.{language}.test*" --out "$transfer"
}
xquad() {
  isoglot finetune "$1" --task xquad "${tune[@]}" --set run="$2" --set epochs=2 --set learning_rate=1e-4 \
    --set batch_size=8 --set evaluate_every=null --set select=last \
    --data train="$data/xquad/xquad.{language}.json#0:80%" --out "$runs/tasks/$2/xquad"
  isoglot evaluate "$runs/tasks/$2/xquad" -q --task xquad --languages en,de,es,hi,zh --precision bfloat16 \
    --data test="$data/xquad/xquad.{language}.json#80:100%" --out "$transfer"
}
