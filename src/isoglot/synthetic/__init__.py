"""isoglot.synthetic"""
