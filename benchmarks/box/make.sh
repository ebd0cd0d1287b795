#!/usr/bin/env bash
# The aligner of the package, isoglot/models/box.safetensors, from Tatoeba, TICO-19 and multilingual-e5-small.
#
#   ISOGLOT_DATA=... ISOGLOT_ENCODER=... ISOGLOT_RUNS=runs benchmarks/box.sh
#
# First round: the HMM teaches 33 languages. Second round: what that aligner and the HMM together find likely. Layer, method
# and threshold are chosen on development links, XL-WA's of es, it, nl and PUD's of zh, ja, ar; the test sets come last.
# Later rounds repeat the second with longer text. At last four more layers learn vectors of sentences. Finished steps are skipped.
# Three to four hours of one core made the two files that are shipped.
set -euo pipefail
here=$(dirname "$0") runs=$ISOGLOT_RUNS
python "$here/box_pairs.py" "$ISOGLOT_DATA" "$ISOGLOT_ENCODER" "$runs/hmm"

mkdir -p "$runs/words"   # what the texts look like when they are given as words, for the pieces to keep
for file in "$runs"/hmm/*.jsonl; do
  name=$(basename "$file" .jsonl)
  [ -f "$runs/words/$name.txt" ] || python -c '
import json, sys
for line in open(sys.argv[1]):
    pair = json.loads(line)
    print(" ".join(pair["source"]), " ".join(pair["target"]), sep="\n")' "$file" > "$runs/words/$name.txt"
done
isoglot trim "$ISOGLOT_ENCODER" --text "$ISOGLOT_DATA"/parallel/*.tsv.gz "$runs"/words/*.txt --out "$runs/trimmed"

ISOGLOT_ENCODER=$runs/trimmed BOX_LINKS=$runs/hmm isoglot pretrain "$here/box.yaml" --set seed=1 --set steps=700 --out "$runs/first"
python "$here/box_relabel.py" "$runs/hmm" "$runs/first/checkpoint" "$runs/second-links" --count 560
second() {   # seed, steps, start, where to, more
  ISOGLOT_ENCODER=$3 BOX_LINKS=$runs/second-links isoglot pretrain "$here/box.yaml" --set seed=$1 --set steps=$2 --out "$4" \
    --set streams.bitext.sampling_exponent=null "${@:5}"
}
second 2 200 "$runs/first/checkpoint" "$runs/second-begun" --set train.learning_rate=8e-5 --set train.warmup_steps=48 \
  --set train.lr_scheduler_type=polynomial --set 'train.lr_scheduler_kwargs={lr_end: 5.19e-5, power: 1.0}'
second 4 250 "$runs/second-begun/checkpoint" "$runs/second" --set train.learning_rate=5e-5 --set train.warmup_steps=10


# Later rounds: each learns from the links of the last one's aligner, drawn back, and starts from its weights as they were trained.
drawn() { [ -d "$2" ] || python "$here/box_mix.py" "$2" "$1/checkpoint" "$runs/trimmed" 0.8; }
later() {   # name, the teacher, start, pairs a language, steps, seed
  python "$here/box_relabel.py" "$runs/hmm" "$2" "$runs/$1-links" --count "$4" --seed "$6"
  ISOGLOT_ENCODER=$3 BOX_LINKS=$runs/$1-links isoglot pretrain "$here/box.yaml" --set seed="$6" --set steps="$5" --out "$runs/$1" \
    --set streams.bitext.sampling_exponent=null --set streams.bitext.encode.max_length=256 --set train.learning_rate=8e-5
  drawn "$runs/$1" "$runs/$1-drawn"
}
drawn "$runs/second" "$runs/second-drawn"
later third "$runs/second-drawn" "$runs/second-drawn" 800 480 5
later fourth "$runs/third-drawn" "$runs/third/checkpoint" 1600 1000 6
later fifth "$runs/fourth-drawn" "$runs/fourth/checkpoint" 1600 900 7

final=$runs/final
[ -d "$final" ] || python "$here/box_mix.py" "$final" "$runs/fifth/checkpoint" "$runs/trimmed" 0.75
cp "$here/../src/isoglot/models/box.md" "$final/README.md"
python "$here/box_measure.py" "$ISOGLOT_DATA" "$final" dev 8 --pud 100 --keep

# Vectors of sentences: the encoder's upper layers on an earlier round, then on the last.
python "$here/box_text.py" "$ISOGLOT_DATA" "$runs/text" --count 800
sentences() {   # name, the aligner, where the upper layers come from, rate, seed
  python "$here/box_stack.py" "$runs/$1-stacked" "$2" "$3"
  BOX_STACKED=$runs/$1-stacked BOX_TEXT=$runs/text isoglot pretrain "$here/box_sentences.yaml" --out "$runs/$1" \
    --set steps=400 --set train.learning_rate="$4" --set seed="$5"
}
sentences sentences-begun "$runs/third-drawn" "$ISOGLOT_ENCODER" 2e-4 1
sentences sentences "$final" "$runs/sentences-begun/checkpoint" 1.5e-4 3

isoglot pack "$final" --out "$runs/box.safetensors" --sentences "$runs/sentences/checkpoint"
python "$here/box_measure.py" "$ISOGLOT_DATA" "$runs/box.safetensors" test
for pairs in 3 5 10 20 50; do
  python "$here/box_measure.py" "$ISOGLOT_DATA" "$runs/box.safetensors" test --joined $pairs
done
python "$here/box_retrieval.py" "$ISOGLOT_DATA" "$runs/trimmed"
python "$here/box_retrieval.py" "$ISOGLOT_DATA" "$runs/box.safetensors"
