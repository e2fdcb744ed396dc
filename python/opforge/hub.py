"""Weights and models from elsewhere: files by URL, kept in a folder, and models of a folder's `hubconf.py`."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
import zipfile
from urllib.parse import urlparse

try:
    from tqdm import tqdm
except ImportError:
    from ._progress import tqdm

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

# The beginning of a file's hash, as it stands in its name: "resnet18-f37072fd.pth".
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_CHUNK = 1 << 17

_folder: str | None = None


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder where downloads are kept: `set_dir`'s, or `$TORCH_HOME/hub`, by default `~/.cache/torch/hub`, where PyTorch has them too."""
    return os.path.join(_get_torch_home(), "hub") if _folder is None else _folder


def set_dir(d) -> None:
    """Keeps downloads in another folder."""
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Writes what a URL gives to the file `dst`, once all of it is there.

    Raises RuntimeError where its SHA-256 does not begin with `hash_prefix`. `progress` shows how far it is, where tqdm is installed.
    """
    folder = os.path.dirname(os.path.expanduser(dst)) or "."
    digest = hashlib.sha256()
    request = urllib.request.Request(url, headers={"User-Agent": "opforge.hub"})
    with urllib.request.urlopen(request) as source, tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        try:
            with tqdm(total=getattr(source, "length", None), disable=not progress, unit="B", unit_scale=True) as bar:
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    file.write(chunk)
                    bar.update(len(chunk))
            file.close()
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            shutil.move(file.name, os.path.expanduser(dst))
        except BaseException:
            os.unlink(file.name)
            raise


def load_state_dict_from_url(
    url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False, *, weights_key=None
):
    """What `opforge.load` reads from a URL's file, which is downloaded to `model_dir` once. A zip archive of one file is unpacked.

    With `check_hash=True` the file's name holds the beginning of its SHA-256: `name-hash.ext`.
    """
    from .serialization import load

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        match = HASH_REGEX.search(os.path.basename(path)) if check_hash else None
        download_url_to_file(url, path, match.group(1) if match else None, progress)
    state = load(_unpacked(path, folder), map_location=map_location, weights_only=weights_only)
    return state if weights_key is None else state[weights_key]


def _unpacked(path, folder):
    """The one file of a plain zip archive, beside it; any other file as it is. What `save` of PyTorch writes is a zip of several files."""
    if not zipfile.is_zipfile(path):
        return path
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        return path if len(members) != 1 or members[0].is_dir() else archive.extract(members[0], folder)


def _entries(folder):
    """The module of a folder's `hubconf.py`."""
    path = os.path.join(os.path.expanduser(folder), "hubconf.py")
    if not os.path.isfile(path):
        raise FileNotFoundError(errno.ENOENT, "hub: there is no such file", path)
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.dirname(path))
    missing = [name for name in getattr(module, "dependencies", ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(folder, source, name):
    if source != "local":
        raise NotImplementedError(f'hub: source="{source}": only folders are read; clone the repository and pass its folder with source="local"')
    function = getattr(_entries(folder), name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function


def load(repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False, verbose=True, skip_validation=False, **kwargs):
    """What the function `model` of the folder's `hubconf.py` gives for the other arguments. Only with `source="local"`."""
    return _entry(repo_or_dir, source, model)(*args, **kwargs)


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None, *, source="local"):  # noqa: A001
    """The documentation of a function of the folder's `hubconf.py`."""
    return _entry(github, source, model).__doc__


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True, *, source="local"):  # noqa: A001
    """The names of the functions of the folder's `hubconf.py`."""
    module = _entries(github)
    return [name for name, value in vars(module).items() if callable(value) and name[0] != "_"]
