"""isoglot.report"""
