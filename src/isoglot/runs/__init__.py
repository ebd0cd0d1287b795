"""Folders and files that runs leave behind: written whole, locked, and recognised when they are finished.

    out/manifest.json        what the folder was made from; written last, so a folder that has one is finished
    out/run.json             the same, written when a run begins that can be continued
    out/.isoglot.json        the list of files that isoglot wrote, and may therefore delete

Beside an output, while a process works on it. If the process is killed they stay behind:

    .out.4711-9f3c…-host.partial    half of a file or folder, which nobody can continue. The next writer of `out`
                                    deletes it, on another machine only after a week without a change.
    .out.replaced.partial           the old folder `out`, whole, moved away for the new one. The next reader or writer
                                    moves it back, or a writer deletes it if the new `out` is there.
    .out.lock, out/.run.lock        locks that the system has released. The next process uses and deletes them.
    out/ with run.json alone        a run, continued by the same command with [[resume=True]]
    .links.txt.parts/               finished parts of `links.txt`, used by the same command and then deleted
    OUT.parts/                      the same for `isoglot prepare` on Ray (`corpus/prepare.py`)

Open `record.py` first: it decides whether a folder is made, continued, or left alone because it is finished.

- `record`, `folder`, `history`: manifests; what a training leaves
- `fingerprint`, `code`, `cache`: hashes of values, files and the user's code, which a record compares
- `files`, `listed`, `disk`, `lock`: writing whole files and folders; full disks; one process at a time
- `parts`: resuming long work block by block
- `pool`, `workers`, `cluster`, `ranks`: work in several processes
- `sweep`, `run_each`, `reporter`: several runs of one verb; progress

The words of this room:

- *run*: one execution of a verb; a `PlannedRun` has not begun. It enters this room through one of three functions:
  `lock.occupied` (trainings), `Record.make` (other folders) or `parts.kept_parts` (files that are made from blocks).
  Only the preparation of a corpus uses none of them: `corpus/prepare.py` locks the folder and writes its manifest
  itself. Nothing in this room knows whether Python or a command called the verb.
- *record*: what a folder was made from, kept in its *manifest*. A later command compares it with what it would make.
- *finished*: with a manifest. *Unfinished*: with `run.json` alone, because the run was killed. Temporary files are not
  called unfinished.
- *list*: the files that isoglot wrote into a folder. Other files in the folder are *foreign*, and never deleted.
- *whole*: written to the end. Until then a file or folder has a *temporary* name, which ends in `.partial`.
  (One whole folder has such a name, too: `.out.replaced.partial`.)
- *key*: the hash of plain values. *Digest*: the hash of files. *Fingerprint*: the digest of one file or folder.
- *remembered*: a digest that is kept in the cache folder, so that a large unchanged file is not read again.
- *piece* of work: what one worker of a pool does at a time, such as the work on one *block* of rows.
- *[[out]]*, *[[resume=True]]* in a message: an option, spelled as the reader types it: ``out=`` in Python, ``--out`` in
  a command (:func:`isoglot.core.named_options.spelled`).
- *part*: a file with the results of finished blocks, kept until the output is whole.
"""
