"""Linear layers as a processor computes them fastest, in place of those that a model is loaded with."""

from __future__ import annotations

from collections.abc import Sequence

import torch

PACKED_FOR = 512
"""Rows that the layout is chosen for; it was the fastest for 1 and 16 rows too."""


class PackedLinear(torch.nn.Module):  # type: ignore[misc]
    """A linear layer whose weights lie in the order in which oneDNN's kernels read them."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), PACKED_FOR)
        self.bias = linear.bias

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = torch.ops.mkldnn._linear_pointwise(inputs, self.weight, self.bias, "none", [], "")
        return outputs


def pack_linear_layers(module: torch.nn.Module) -> None:
    """Replaces every plain linear layer of a module, deep down, where torch comes with oneDNN."""
    for name, child in module.named_children():
        if type(child) is not torch.nn.Linear:
            pack_linear_layers(child)
        elif _packable(child.weight.dtype):
            setattr(module, name, PackedLinear(child))


def _packable(dtype: torch.dtype) -> bool:
    if not torch.backends.mkldnn.is_available():
        return False
    return dtype == torch.float32 or (dtype == torch.bfloat16 and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()))


class LogitsLayer(torch.nn.Module):  # type: ignore[misc]
    """The last layer of a model, for the places that were asked for alone, and in float32.

    Most positions of a chunk need no logits, which take as long as several layers. Logits are float32, because the best
    two of bfloat16 logits tie on 1 step in 15.
    """

    places: Sequence[tuple[int, int]] = ()
    """(row, column) of each logits row that the next call yields."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        if not isinstance(linear, torch.nn.Linear):
            raise ValueError("the model's last layer isn't a linear one")
        self.linear = linear
        if linear.weight.dtype is not torch.float32:  # a new one: the weights may be those of the embedding too
            self.linear = torch.nn.Linear(linear.in_features, linear.out_features, bias=linear.bias is not None)
            self.linear.load_state_dict(linear.state_dict())

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[rows, columns, dimension] to [1, places, tokens]."""
        rows, columns = torch.tensor(self.places, device=hidden.device).unbind(1)
        logits: torch.Tensor = self.linear(hidden[rows, columns].float())[None]
        return logits
