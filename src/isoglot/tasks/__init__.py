"""isoglot.tasks"""
