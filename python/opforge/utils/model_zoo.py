"""`hub.load_state_dict_from_url` under its older name."""

from __future__ import annotations

from ..hub import HASH_REGEX, download_url_to_file, load_state_dict_from_url, tqdm, urlparse  # noqa: F401

__all__ = ["load_url", "load_state_dict_from_url"]

load_url = load_state_dict_from_url
