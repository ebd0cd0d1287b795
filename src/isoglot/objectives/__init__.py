"""isoglot.objectives"""
