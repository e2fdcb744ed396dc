"""A progress bar that shows nothing, where the package tqdm is not installed."""

from __future__ import annotations


class tqdm:
    """Iterates over what it is given."""

    def __init__(self, iterable=(), total=None, **options):
        self._iterable, self.n = iterable, 0

    def update(self, n=1):
        """Counts on."""
        self.n += n

    def set_description(self, text=None, refresh=True):
        """Nothing is shown."""

    def close(self):
        """Nothing is left."""

    def __iter__(self):
        return iter(self._iterable)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
