"""Processes that come and go."""
