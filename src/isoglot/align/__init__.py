"""isoglot.align"""
