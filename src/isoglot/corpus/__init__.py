"""isoglot.corpus"""
