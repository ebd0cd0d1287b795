"""The papers' tables and figures, and the demo, as programs that import `isoglot` and `isoglot.studies` alone.

One file a paper: ``align_mlm.py`` (data in ``align_mlm_data.py``), ``ppa.py``, ``weam.py`` and ``xlm_align.py``. Each
opens with its sizes at the scales tiny, small and paper, and has a function for each table: a study, which `isoglot
study PAPER/TABLE` runs. ``languages.py`` has what WEAM, PPA and XLM-Align share: data in six languages and an encoder
to start from. ``real.py`` (data in ``real_data.py``) measures every system on an encoder of your own, ``demo.py`` is
`isoglot demo`.

Open ``weam.py`` first: it is the shortest. What a lab, a cell and a step are stands in ``isoglot.studies``.
"""
