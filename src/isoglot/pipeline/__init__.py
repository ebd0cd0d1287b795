"""isoglot.pipeline"""
