"""Folders and files that runs leave behind: written whole, locked, recognised when they are done.

- `record`: what a folder was made from, so that the same is not made twice
- `fingerprint`, `code`: hashes of values, files and the user's code, which a record compares
- `lock`: one process at a time in a folder or file
- `files`, `listed`: files and folders that appear when they are whole, and are deleted by their lists alone
- `folder`, `history`: what a training leaves
- `pool`, `workers`, `cluster`, `ranks`: work in several processes
"""
