"""Settings of fine-tuning that a paper gives for several tasks; each task's class states them with its own."""

from collections.abc import Mapping
from typing import Any

XTREME: Mapping[str, Any] = {"learning_rate": 2e-5, "max_length": 128}
"""Tags and pairs in XTREME's scripts (Hu et al. 2020, appendix B)."""

XTREME_QUESTIONS: Mapping[str, Any] = {
    "learning_rate": 3e-5,
    "epochs": 3,
    "warmup": 500,
    "weight_decay": 1e-4,
    "max_length": 384,
    "windows": "advance",
    "select": "last",
}
"""Questions there: the model of SQuAD, read in windows that begin ``doc_stride`` tokens apart."""

PPA: Mapping[str, Any] = {"epochs": 2, "warmup": 1000, "weight_decay": 0.01, "precision": "mixed"}
"""PPA §3.3, which follows "the standard way of finetuning BERT-like models" (§2.3)."""

ALIGN_MLM: Mapping[str, Any] = {"learning_rate": 2e-5, "max_length": 128, "select": "last"}
"""ALIGN-MLM Table 11. The authors' scripts keep the last checkpoint: the dev set is the one they report."""

XLM_ALIGN: Mapping[str, Any] = {"warmup": 0.1, "weight_decay": 0.0, "max_length": 128, "select": "joint"}
"""XLM-Align Table 12, searched on the joint dev data of all languages. Lengths are not given: XTREME's."""
