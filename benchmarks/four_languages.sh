#!/usr/bin/env bash
# Six continuations of one small encoder of four languages, fine-tuned on English and measured on de, es, fr.
#
#   ISOGLOT_DATA=... ISOGLOT_RUNS=runs benchmarks/four_languages.sh
#
# About two hours of one core. Finished runs are skipped, a stopped one goes on. The start and
# the word-aligned pairs are made as `isoglot recipes small/tlm_four` says. Output: $ISOGLOT_RUNS/four_languages.html
set -euo pipefail
data=$ISOGLOT_DATA runs=$ISOGLOT_RUNS tasks=$ISOGLOT_RUNS/tasks
common=(-q --language en --set precision=bfloat16 --set warmup=0.1)
names=(mlm_sides tlm weam ppa align_mlm xlm_align)

isoglot pretrain small/mlm_four --out "$runs/mlm_four"
for l in de es fr; do
  isoglot prepare "$data/parallel/en-$l.tsv.gz" --column source=0 --column target=1 --column flags=3 --source-lang en \
    --target-lang "$l" --held-out-flag laser_tatoeba --duplicates pair --max-length-ratio 3 --out "$runs/en-$l"
  isoglot align "$runs/en-$l"/*.parquet --words unicode --source-lang en --target-lang "$l" --method hmm \
    --symmetrise intersect --format corpus --out "$runs/aligned-en-$l"
done

for name in "${names[@]}"; do
  isoglot pretrain "small/${name}_four" --out "$runs/${name}_four"
  run=${name/mlm_sides/mlm} from=$runs/${name}_four
  out=$tasks/$run

  isoglot finetune "$from" --task pos "${common[@]}" --set run="$run" --set learning_rate=1e-3 --set epochs=2 \
    --data train="$data/ud/en_ewt-ud-train.conllu.gz" --data dev="$data/ud/en_ewt-ud-dev.conllu" \
    --seed 1,2,3 --out "$out/pos"
  isoglot evaluate "$out"/pos/seed-* -q --task pos --languages en,de,es,fr --precision bfloat16 \
    --data "$data/ud/{language}_pud-ud-{split}.conllu" --out "$out/results.jsonl"

  isoglot finetune "$from" --task ner "${common[@]}" --set run="$run" --set learning_rate=1e-3 --set epochs=2 \
    --data "$data/wikiann/{language}" --out "$out/ner"
  isoglot evaluate "$out/ner" -q --task ner --languages en,de,es,fr --precision bfloat16 \
    --data "$data/wikiann/{language}" --out "$out/results.jsonl"

  isoglot finetune "$from" --task xnli "${common[@]}" --set run="$run" --set learning_rate=5e-4 --set epochs=1 \
    --set dev_fraction=0.05 --set evaluate_every=null \
    --data train="$data/nli/mnli.en.dev.csv" --data train="$data/nli/snli.en.dev.csv" --out "$out/nli"
  isoglot evaluate "$out/nli" -q --task xnli --languages de,es --precision bfloat16 \
    --data "$data/nli/xnli.{language}.test*" --out "$out/results.jsonl"

  # No SQuAD here: the articles of English XQuAD are divided, which exercises the path and no more.
  case $name in mlm_sides | tlm | weam)
    isoglot finetune "$from" --task xquad "${common[@]}" --set run="$run" --set learning_rate=1e-3 --set epochs=3 \
      --set select=source --set max_length=256 --data train="$data/xquad/xquad.en.json#0:70%" \
      --data dev="$data/xquad/xquad.en.json#70:80%" --out "$out/qa"
    isoglot evaluate "$out/qa" -q --task xquad --languages en,de,es --precision bfloat16 \
      --data "$data/xquad/xquad.{language}.json#80:100%" --out "$out/results.jsonl"
    ;;
  esac

  isoglot evaluate "$from" -q --run "$run" --task tatoeba --languages de,es,fr --set layer=3 \
    --data "$data/tatoeba" --out "$out/results.jsonl"
  isoglot evaluate "$from" -q --run "$run" --task lexicon_induction --languages en-de,en-es,en-fr \
    --data "$data/lexicon" --out "$out/results.jsonl"
  isoglot evaluate "$from" -q --run "$run" --task word_alignment --languages de-en,en-fr --set layer=3 \
    --data "$data/wordalign/{language}.jsonl" --out "$out/results.jsonl"
done

checkpoints=() labels=()
for name in "${names[@]}"; do checkpoints+=("$runs/${name}_four") labels+=(-l "${name/mlm_sides/mlm}"); done
isoglot analyse layers "${checkpoints[@]}" "${labels[@]}" --gold "$data/wordalign/de-en.jsonl" -m itermax \
  --out "$runs/analyses"
isoglot analyse similarity "${checkpoints[@]}" "${labels[@]}" -c "$data/tatoeba/tatoeba.deu-eng.eng" \
  -c "$data/tatoeba/tatoeba.deu-eng.deu" --source-lang en --target-lang de --out "$runs/analyses"
isoglot analyse map "$runs/mlm_four" "$runs/weam_four" -l before -l after -c "$runs/aligned-en-de" \
  --out "$runs/analyses"
isoglot report "$tasks" "$runs/analyses" --baseline mlm --title "Four languages, one small encoder, six continuations" \
  --out "$runs/four_languages.html"
