"""Averages of models."""
