"""The options that most people need of each command: its `--help` and docs/reference/commands.md list them first."""

FIRST_OPTIONS: dict[str, tuple[str, ...]] = {
    # word links
    "align": ("--out", "--method", "--model", "--words", "--format"),
    "score": ("--gold", "--reverse", "--base", "--model", "--layers"),
    "project": ("--out", "--kind", "--target-lang", "--links", "--method"),
    # corpora
    "prepare": ("--out", "--source-lang", "--target-lang", "--duplicates", "--max-length-ratio"),
    "filter": ("--out", "--preset", "--dropped", "--min-alignment", "--model"),
    "mine": ("--out", "--min-score", "--model", "--source-lang", "--target-lang"),
    "align-sentences": ("--out", "--max-size", "--model", "--source-lang", "--target-lang"),
    # training
    "init": ("--model", "--source-lang", "--target-lang", "--out", "--overwrite"),
    "pretrain": ("--out", "--set", "--check", "--resume", "--overwrite"),
    "finetune": ("--task", "--data", "--out", "--language", "--seed"),
    "export": ("--out", "--to", "--layer", "--pooling", "--max-length"),
    # measuring
    "predict": ("--task", "--out", "--language", "--probabilities", "--column"),
    "evaluate": ("--task", "--data", "--languages", "--out", "--set"),
    "transfer": ("--task", "--data", "--languages", "--out", "--seed"),
    "analyse alignment": ("--out", "--lexicon", "--source-lang", "--target-lang", "--vocabulary"),
    "analyse correlation": ("--out", "--tasks", "--with-paper"),
    "analyse map": ("--corpus", "--out", "--labels", "--layer", "--count"),
    "analyse layers": ("--gold", "--out", "--labels", "--methods", "--layers"),
    "analyse similarity": ("--corpus", "--out", "--labels", "--measures", "--layers"),
    "analyse geometry": ("--corpus", "--out", "--labels", "--measures", "--layers"),
    "analyse alignments": ("--gold", "--out", "--labels", "--method", "--layer"),
    "report page": ("--out", "--tables", "--baseline", "--rename", "--title"),
    # papers and derived languages
    "study": ("--list", "--dry-run", "--out", "--scale", "--only"),
    "derive": ("--transform", "--out", "--lang", "--tokenizer", "--syntax"),
    "world": ("--out", "--seed", "--text"),
}
"""Command, and its first options in the order of `--help`. A command that is not here lists its options as declared."""
