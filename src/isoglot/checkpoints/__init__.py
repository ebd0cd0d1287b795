"""Folders and packed files of encoders: where one is, what a packed one holds, what to say when it is damaged."""
