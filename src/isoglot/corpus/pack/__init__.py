"""Pack streams: the texts of a stream go in, and blocks come out that are as long as the encoder's input.

Open ``packing.py`` first: it has the modes and the columns of a block. ``blocks.py`` decides which texts share a block.
"""
