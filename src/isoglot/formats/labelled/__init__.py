"""Read labelled data from a file, folder, hub name or object in memory, as a data set of one schema.

Open ``sources.py`` first: it finds the file of a language and split (:class:`~sources.DataSource`). ``tags.py``,
``pairs.py`` and ``questions.py`` read files of tagged sentences, labelled pairs and questions, ``hub.py`` data sets of
the Hugging Face hub, ``memory.py`` objects in memory. ``splits.py`` has the names of splits and columns that all of
them know, ``withheld.py`` the message about test data whose labels are withheld.
"""
