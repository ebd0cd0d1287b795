"""Folders and files that runs leave behind: named, written atomically, recognised when they are done."""
