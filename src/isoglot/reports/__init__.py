"""Reports: results, cells, curves and figures of runs in; tables, charts and one self-contained page out. Never torch.

    folders ──> runs.gather ──> Material ─┬─ rows ───> scores ──> grid, headline, sweeps ─┐
                labels, run_names         ├─ cells ──> beside_papers (papers) ────────────┼─> render.report ──> page
                                          ├─ counts ─> paired, paired_table ──────────────┤   export ──> CSV, LaTeX
                                          └─ curves, figures, alignments ──> charts, viewer ─┘

Read ``render.py`` first: ``report`` has this order. The tables of ``isoglot report compare`` take the same way, without
a page: ``render.comparison_tables``, which ``export`` writes.

The order of languages depends on the kind of table:

- Tables of a task: the source first, the others by the alphabet (``grid._source_first``).
- Tables of ``isoglot transfer`` (``grid._transfer_slots``): as they first appear in the rows of results. Headlines,
  charts of sweeps and the tooltips of the overview list the languages of a mean in this order too.
- The table "All results" (``render._results_table``) has a row for each result, in the order of the material.
- Tables beside a paper: that of the paper's columns (``beside_papers._Builder._filled_columns``).
- Confusions and paired differences: that of the files beside the predictions (``confusion_tables._table``,
  ``paired_table._counts_by_run``).

The words of this room:

- *tooltip*: text shown when a reader points at a cell. *title*: the heading of a table, chart or page.
- *result*, or row of results: one measured number, a line of ``results.jsonl``.
- *cell*: one measured number with its place in a paper's table, a line of ``cells.jsonl``. A *table cell* is a place in
  a table that is shown.
- *measure*: a task, split and metric. *score*: a mean over seeds.
- *label*: what a report calls a run. Runs of one label and different seeds are one row. A user may give a label to an
  input, ``mine=runs/a``; ``RunLabels`` makes labels of runs from it.
- *figure*: a drawing, of a run's ``figures`` folder or made here, and never a number; *chart*: the figure as SVG.
- *setting*: of a row of a paper, ``zero-shot`` or ``translate-train``; of a cell, the *changes* of its study's sizes.
- *options* of a row of results: those of its evaluation (``Result.settings`` writes them as text). *axis*: the value
  of the recipe that a sweep varies, such as ``layer``; evaluation options are never an axis.
- *measured*: the thing that a row of results or a curve is about, such as a task, language, split and metric.
- *printed*: as the paper has it, even where that is wrong.
- *entry*: a row of results, a curve or a file of counts, as far as it says which run it came from.
- *comparison*: two systems tested on the same examples, with an interval and p (``paired.compare``, public). A
  *difference row* is a subtraction without a test: in the tables of tasks from the first run, beside the papers from
  the paper. ``isoglot report compare`` shows both: difference rows, and the comparisons of ``paired_table`` below.
"""
