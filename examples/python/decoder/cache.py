"""Keys and values of the tokens so far."""

import opforge as torch


class Cache:
    """Of each layer the keys and values `[batch, heads, tokens, width]`, in memory that grows by whole blocks of tokens: a step writes what is new and copies nothing else."""

    def __init__(self, block=256):
        self.block, self.length, self._layers = block, 0, {}

    def extend(self, layer, key, value):
        """Appends the new tokens' keys and values to a layer's, and gives views of all. `length` stays until `advance`: layers extend in turn."""
        end = self.length + key.shape[2]
        stored = self._layers.get(layer)
        if stored is None or stored[0].shape[2] < end:
            stored = self._layers[layer] = [self._grown(stored and stored[i], new, end) for i, new in enumerate((key, value))]
        for whole, new in zip(stored, (key, value)):
            whole[:, :, self.length : end] = new
        return [whole[:, :, :end] for whole in stored]

    def advance(self, count):
        """Counts tokens as there, once all layers have been extended by them."""
        self.length += count

    def _grown(self, old, new, end):
        batch, heads, _, width = new.shape
        whole = torch.empty(batch, heads, -(-end // self.block) * self.block, width, dtype=new.dtype)
        if old is not None:
            whole[:, :, : self.length] = old[:, :, : self.length]
        return whole
