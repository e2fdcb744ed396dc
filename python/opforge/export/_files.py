"""Directories of exported programs as one file: a zip archive, not compressed, of the directory's files."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import zipfile


@contextlib.contextmanager
def written(file):
    """A directory, whose files are in `file`, an object that is open for writing, after the block."""
    with tempfile.TemporaryDirectory() as directory:
        yield directory
        with zipfile.ZipFile(file, "w") as archive:
            for name in sorted(os.listdir(directory)):
                archive.write(os.path.join(directory, name), name)


@contextlib.contextmanager
def extracted(file, names, label):
    """A directory with those files of an archive that have these names. Raises ValueError, which begins with the label, for what is no archive, is broken
    or lacks one."""
    archive = file if file.seekable() else io.BytesIO(file.read())
    with tempfile.TemporaryDirectory() as directory:
        try:
            with zipfile.ZipFile(archive) as entries:
                for name in names:
                    entries.extract(name, directory)
        except (zipfile.BadZipFile, ValueError, KeyError, EOFError, NotImplementedError) as error:
            raise ValueError(f"{label}: no exported program: {error}") from None
        yield directory
