"""The papers' tables and figures, and the demo, as programs that import only `isoglot` and `isoglot.studies`.

Each paper has one file: ``align_mlm.py``, ``ppa.py``, ``weam.py`` and ``xlm_align.py``. The file opens with the sizes
at the scales tiny, small and paper, and has a function for each table: a study, which `isoglot study PAPER/TABLE` runs.
Every public function of the file whose only argument is called ``lab`` is a study; nothing registers it. The name of a
new file goes into ``PAPER_MODULES`` of ``isoglot.studies.catalogue``.
``real.py`` measures every system on an encoder of your own, ``demo.py`` is `isoglot demo`. Files that end in ``_data``
hold the data of the file with the same beginning. ``languages.py`` has the data in six languages and the encoder to
start from, which WEAM, PPA, XLM-Align and ``real.py`` share.

Open ``weam.py`` first: it is the shortest. ``isoglot.studies`` explains labs, cells and steps.

The words of this room:

- *system*: a way to train an encoder, such as ``weam``; a paper's table may have several rows of one system.
- *kind* of a task: its name in isoglot, ``xnli``.
- *copy*: a derived language made from English, which plays a real language in the miniature world.
- *spoken*: the languages of a task or of bitext; *code*: one language.
- *table*, of a cell: ``weam:Table1``, with a colon, is a table of the paper, with the paper's rows and columns.
  ``weam/masking_rate``, with a slash, is our own: its rows and columns are those that the study gives to ``lab.cell``.
- *row* and *column* of a paper's table: entries of ``isoglot/reports/data/papers.json``. All fields of a row but
  ``label`` and ``values`` are its ``attributes``: ``row.attributes["group"]``. The fields of a column, ``column.task``,
  are those of ``PaperColumn`` in ``isoglot/reports/papers.py``.
- *warmup*: in ``SIZES`` of ``ppa.py`` of fine-tuning, elsewhere of pre-training; ``…_warmup`` is of fine-tuning. In
  fine-tuning a value below 1 is a share of all steps.
- *the world*: the miniature world, English text and task data that `isoglot world` generates.
- ``lab.size`` logs each size that a cell looks up, for the table's caption; ``lab.setting.size`` has the same sizes
  without the log.
- A trailing comment in ``SIZES`` says where the paper's value is from; "not given": the paper does not say. After a
  semicolon, ``Eq. 5: sum`` is another value of the size, and the equation, table or code that has it.
"""
