"""Handles by which registered hooks are taken back."""

from __future__ import annotations

import itertools
import weakref

_ids = itertools.count()


class RemovableHandle:
    """Takes a hook out of the dictionary it was registered in; `with handle:` removes it at the end of the block."""

    def __init__(self, hooks_dict, *, extra_dict=None):
        extra = () if extra_dict is None else extra_dict if isinstance(extra_dict, (list, tuple)) else (extra_dict,)
        self.id = next(_ids)
        self._dicts = [weakref.ref(d) for d in (hooks_dict, *extra)]

    def remove(self):
        for ref in self._dicts:
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.remove()


def register(hooks, hook, prepend=False, flags=()) -> RemovableHandle:
    """Adds `hook` to the ordered dictionary `hooks`, and its number to each dictionary of `flags`."""
    handle = RemovableHandle(hooks, extra_dict=list(flags))
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for flag in flags:
        flag[handle.id] = True
    return handle
