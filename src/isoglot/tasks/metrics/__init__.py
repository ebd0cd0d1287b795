"""Metrics of the tasks, on plain Python values. All are percentages unless their name says otherwise."""
