"""isoglot.analysis"""
