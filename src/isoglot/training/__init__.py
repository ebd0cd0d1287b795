"""isoglot.training"""
