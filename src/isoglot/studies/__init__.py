"""Studies: programs that fill tables and draw figures, and the lab that makes each piece of work once.

    study (a function of a Lab) ─> cells ─> steps (a folder each) ─> values ─> tables, figures, results

1. A study names cells of a table, each with a function that gives its number (``Lab.cell``).
2. That function asks the lab for works: pre-train, fine-tune, evaluate (``Lab.pretrain``, ...). A work is the folder
   that a step leaves; equal steps are one folder, whoever asks.
3. ``making.py`` makes the steps that are missing, each as soon as the steps before it are done.

Open ``lab.py`` first. ``step.py`` is the base of steps; they are defined in ``steps.py``, ``training_steps.py``,
``analysis_steps.py`` and ``counting_steps.py``. The names below are those that a study may need; `isoglot.papers`
holds the studies that come with isoglot.
"""

from isoglot.reports.papers import PaperColumn, PaperRow, paper_table
from isoglot.reports.stats import rank_correlation
from isoglot.studies.analysis_steps import BestLinks, DrawFigure, ScoreEmbeddings, StatisticalAlignment
from isoglot.studies.counting_steps import CountStreams, DescribeEncoder
from isoglot.studies.lab import Lab
from isoglot.studies.parts import TaskScores, Work
from isoglot.studies.sizes import at_scale
from isoglot.studies.step import Step, UnavailableError
from isoglot.studies.steps import (
    Align,
    CollectText,
    Derive,
    MakeWorld,
    Prepare,
    ProjectLabels,
    SamplePairs,
    TagPairs,
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
