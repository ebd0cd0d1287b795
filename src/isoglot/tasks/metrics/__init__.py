"""Metrics of the tasks, on plain Python values: counts of each example, whose ``value`` is in %."""
