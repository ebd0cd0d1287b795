"""Readers of task data in their original formats, each giving a data set of one of the task schemas."""
