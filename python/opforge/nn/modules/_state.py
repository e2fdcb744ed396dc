"""Saving and loading what a module holds."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

from ... import _core as _C
from ...autograd.grad_mode import no_grad
from ..parameter import Parameter, is_lazy, was_lazy

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"


class StateDict:
    """The saving and loading half of a module."""

    _version = 1

    def get_extra_state(self):
        """What a subclass keeps in the `state_dict` beside tensors; it overrides this and `set_extra_state`."""
        raise RuntimeError("get_extra_state: override it in the module's class, together with set_extra_state")

    def set_extra_state(self, state):
        """Takes back what `get_extra_state` returned."""
        raise RuntimeError("set_extra_state: override it in the module's class, together with get_extra_state")

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """The parameters and persistent buffers of this module and all below it, by their dotted names.

        The tensors share the module's memory and are detached unless `keep_vars`. `_metadata` on the result holds each module's version.
        """
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args):])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, metadata)
            destination = destination if replaced is None else replaced
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Adds this module's own tensors, not those of its children."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self):
        buffers = {name: b for name, b in self._buffers.items() if name not in self._non_persistent_buffers_set}
        return {name: tensor for name, tensor in {**self._parameters, **buffers}.items() if tensor is not None}

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the tensors of `state_dict` into this module and those below it; with `assign` takes them as they are.

        Returns the missing and the unexpected keys; with `strict` there must be none. Raises RuntimeError that lists everything that
        does not fit.
        """
        if not hasattr(state_dict, "items"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        missing, unexpected, errors = [], [], []
        self._load(state_dict, "", strict, assign, missing, unexpected, errors)
        if strict:
            lists = ("Unexpected", unexpected), ("Missing", missing)
            for kind, keys in lists:
                if keys:
                    quoted = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{kind} key(s) in state_dict: {quoted}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    def _load(self, state_dict, prefix, strict, assign, missing, unexpected, errors):
        metadata = dict(getattr(state_dict, "_metadata", None) or {}).get(prefix[:-1], {})
        if assign:
            metadata["assign_to_params_buffers"] = True
        # A module that changed its parameters' layout overrides this by PyTorch's name.
        self._load_from_state_dict(state_dict, prefix, metadata, True, missing, unexpected, errors)
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}{name}."
                part = OrderedDict((k, v) for k, v in state_dict.items() if k.startswith(below))
                part._metadata = getattr(state_dict, "_metadata", None)
                module._load(part, below, strict, assign, missing, unexpected, errors)
        keys = _IncompatibleKeys(missing, unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise RuntimeError("load_state_dict post hooks change incompatible_keys in place and return None")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Loads this module's own tensors, not those of its children."""
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in self._own_state().items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(name, tensor, key, state_dict[key], assign)
                error_msgs.extend([error] if error else [])
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + EXTRA_STATE, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys.extend(key for key in state_dict if self._is_unexpected(key, prefix))

    def _load_tensor(self, name, tensor, key, value, assign):
        """Puts `value` into the parameter or buffer `name`; what does not fit is returned as a message."""
        if not isinstance(value, _C.Tensor):
            return f'While copying the parameter named "{key}", expected a Tensor from checkpoint but received {type(value)}'
        if is_lazy(tensor) and was_lazy(value):
            return None
        if tensor.dim() == 0 and tuple(value.shape) == (1,):
            value = value[0]
        if tuple(value.shape) != tuple(tensor.shape):
            shapes = f"a param with shape {value.shape} from checkpoint, the shape in current model is {tensor.shape}"
            return f"size mismatch for {key}: copying {shapes}."
        try:
            if assign:
                keeps = isinstance(tensor, Parameter) and not isinstance(value, Parameter)
                setattr(self, name, Parameter(value, tensor.requires_grad) if keeps else value)
            else:
                with no_grad():
                    tensor.copy_(value)
        except Exception as error:
            return f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.shape}: {error!r}.'

    def _load_extra_state(self, state_dict, key, strict, missing, unexpected):
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing.append(key)
        elif strict and key in state_dict:
            unexpected.append(key)

    def _is_unexpected(self, key, prefix):
        if not key.startswith(prefix) or key == prefix + EXTRA_STATE:
            return False
        head, dot, _ = key[len(prefix):].partition(".")
        return head not in self._modules if dot else head not in self._own_state()
