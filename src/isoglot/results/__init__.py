"""Results: rows and cells of tables (`rows.py`), word links counted against gold links, metrics counted per example."""
