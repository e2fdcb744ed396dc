"""A version that is a text and compares as versions do."""

from __future__ import annotations

import re

from .version import __version__ as _text

__all__ = ["TorchVersion"]

# A release; what may stand after it, a pre-release or the like; a local label.
_PATTERN = re.compile(r"v?(\d+(?:\.\d+)*)[-_.]?(?:(dev|a|alpha|b|beta|rc|post)[-_.]?(\d*))?[^+]*(\+.*)?", re.ASCII)
_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "": 0, "post": 1}


def _key(version):
    """What orders versions: of texts, or of their parts in a tuple."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    match = _PATTERN.fullmatch(str(version))
    if match is None:
        raise ValueError(f"{version!r} is no version")
    release, stage, number, label = match.groups()
    parts = [int(part) for part in release.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts, _STAGES[stage or ""], int(number or 0), label or ""


class TorchVersion(str):
    """A version as a text that orders by its numbers, among texts and tuples.

    >>> TorchVersion("2.15.0") > "2.9" and TorchVersion("2.15.0") >= (2, 15)
    True
    """

    def __lt__(self, other):
        return _key(self) < _key(other)

    def __le__(self, other):
        return _key(self) <= _key(other)

    def __gt__(self, other):
        return _key(self) > _key(other)

    def __ge__(self, other):
        return _key(self) >= _key(other)

    def __eq__(self, other):
        try:
            return _key(self) == _key(other)
        except ValueError:
            return False

    __hash__ = str.__hash__


__version__ = TorchVersion(_text)
