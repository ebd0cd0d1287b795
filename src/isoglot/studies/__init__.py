"""Studies: tables and figures as programs over a lab, which makes each piece of work once.

These are the names that a study may need; `isoglot.papers` holds those that come with isoglot.
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
