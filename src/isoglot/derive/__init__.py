"""isoglot.derive"""
