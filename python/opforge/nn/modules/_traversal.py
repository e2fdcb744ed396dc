"""Walking through a module's parameters, buffers and children."""

from __future__ import annotations


class Traversal:
    """The read-only half of a module: everything it holds, by name, each object once."""

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """This module and all below it, with their dotted names; its own name is `prefix`."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self):
        """The modules directly below this one."""
        memo = {None}
        for name, module in self._modules.items():
            if module not in memo:
                memo.add(module)
                yield name, module

    def children(self):
        """The modules directly below this one."""
        return (module for _, module in self.named_children())

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        """(name, member) of `get_members_fn(module)` over this module and, if `recurse`, those below it."""
        memo = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in memo:
                    continue
                if remove_duplicate:
                    memo.add(id(member))
                yield f"{module_prefix}.{name}" if module_prefix else name, member

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """The parameters with their dotted names."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters: what an optimizer takes."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """The buffers with their dotted names."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target):
        """The module with the dotted name `target`; AttributeError says at which step there is none."""
        from .module import Module

        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def get_parameter(self, target):
        """The parameter with the dotted name `target`."""
        return self._member(target, "_parameters", "nn.Parameter")

    def get_buffer(self, target):
        """The buffer with the dotted name `target`."""
        return self._member(target, "_buffers", "buffer")

    def _member(self, target, table, kind):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in getattr(module, table):
            raise AttributeError(f"`{name}` is not an {kind}" if kind[0] == "n" else f"`{name}` is not a {kind}")
        return getattr(module, name)
