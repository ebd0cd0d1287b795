"""Studies: programs that fill tables and draw figures, and the lab that makes each piece of work once.

    study (a function of a Lab) ─> cells ─> steps (a folder each) ─> values ─> tables, figures, results

1. A study names cells of a table, each with a function that gives its number (``Lab.cell``).
2. That function asks the lab for steps: pre-train, fine-tune, evaluate (``Lab.pretrain``, ...). The lab answers with a
   work, the folder that the step leaves. Equal steps share one folder, whoever asks.
3. ``making.py`` makes the steps that are missing, each as soon as the steps before it are done.
4. ``tables.write_study`` writes the files of the study's own folder, from the numbers that are known.

Open ``lab.py`` first. ``step.py`` is the base of steps; they are defined in ``steps.py``, ``projection_steps.py``,
``training_steps.py``, ``analysis_steps.py`` and ``counting_steps.py``. A study imports the names below and those of
`isoglot`, nothing else. The studies that come with isoglot are in `isoglot.papers`.

The words of this room, each for one thing:

- *part*: a cell or a figure of a study. "A part of the encoders" is only said of ``--only 2/8``.
- *step*: one piece of work, described by its fields. Its *kind* is the folder that its class names, ``pretrain``; the
  kind of a task is the task's name, ``pos``; that of a source is the form of its rows, ``text`` or ``treebank``.
- *work*: the folder of a step, finished or not. ``Work.manifest`` is the step's record, one section of the folder's
  file ``manifest.json``; it is empty until the step is made.
- *finished*: of a step, that its manifest is not empty. Of a whole study nothing records it, and nothing needs to:
  ``StudyPart.todo`` has the steps that a part still lacks. It is empty also for a part that cannot be measured, such as
  a cell of another paper's data. Figures that ``--only`` leaves out belong to no ``Program``.
- *label*: of a step, the name that its run has in results (``Step.label``), such as ``XLM-Align - DWA``; it is the
  argument ``run`` of ``Lab.pretrain``. Of a row or column, a text by which a cell names it; a row of a paper has
  several (``PaperRow.labels``).
- *system*: the id of a method in a paper's row, ``xlm_align_no_dwa``. It is one of the labels of that row.
- *value*: a number that a step recorded and a cell may show; *fact*: anything else that a step recorded.
- *size*: a named value of a study, such as ``steps``; *scale*: ``tiny``, ``small`` or ``paper``, which gives all sizes;
  *changes*: sizes that the user gives in place of the scale's; *setting*: all sizes that a study runs with. Settings of
  fine-tuning, such as epochs, are called so in full.
- *ask*: call the function of a part, to learn which steps it needs and whether its number is known.
- *from outside*: not made by a step of the study: files, checkpoints, environment variables.
"""

from isoglot.reports.papers import PaperColumn, PaperRow, paper_table
from isoglot.reports.stats import rank_correlation
from isoglot.studies.analysis_steps import BestLinks, DrawFigure, ScoreEmbeddings, StatisticalAlignment
from isoglot.studies.counting_steps import CountStreams, DescribeEncoder
from isoglot.studies.lab import Lab
from isoglot.studies.parts import TaskScores, Work
from isoglot.studies.projection_steps import ProjectLabels, TagPairs
from isoglot.studies.sizes import at_scale
from isoglot.studies.step import Step, UnavailableError
from isoglot.studies.steps import (
    Align,
    CollectText,
    Derive,
    MakeWorld,
    Prepare,
    SamplePairs,
    TrainTokenizer,
    WriteGold,
)
from isoglot.studies.tables import StudyTables, run_studies
from isoglot.studies.training_steps import External, StudyTask
from isoglot.study_request import StudyRequest

__all__ = [
    "Align",
    "BestLinks",
    "CollectText",
    "CountStreams",
    "Derive",
    "DescribeEncoder",
    "DrawFigure",
    "External",
    "Lab",
    "MakeWorld",
    "PaperColumn",
    "PaperRow",
    "Prepare",
    "ProjectLabels",
    "SamplePairs",
    "ScoreEmbeddings",
    "StatisticalAlignment",
    "Step",
    "StudyRequest",
    "StudyTables",
    "StudyTask",
    "TagPairs",
    "TaskScores",
    "TrainTokenizer",
    "UnavailableError",
    "Work",
    "WriteGold",
    "at_scale",
    "paper_table",
    "rank_correlation",
    "run_studies",
]
