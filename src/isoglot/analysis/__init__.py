"""Analyses of trained encoders."""
