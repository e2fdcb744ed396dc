"""Launchers: `opforge run -n` starts processes."""
