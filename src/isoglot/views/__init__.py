"""isoglot.views"""
