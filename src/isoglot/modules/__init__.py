"""isoglot.modules"""
