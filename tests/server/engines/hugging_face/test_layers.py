"""Layers laid out for the processor compute what they computed before."""

from __future__ import annotations

import pytest
import torch

from server.engines.hugging_face.layers import LogitsLayer, PackedLinear, pack_linear_layers


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN")
@pytest.mark.parametrize("shape", [(1,), (16,), (2, 5), (1, 600)])
@pytest.mark.parametrize("bias", [False, True])
def test_packed_weights_compute_the_same(shape: tuple[int, ...], bias: bool) -> None:
    """Packed weights compute the same for any number of rows, also those that the layout was not chosen for."""
    torch.manual_seed(0)
    linear = torch.nn.Linear(48, 30, bias=bias)
    inputs = torch.randn(*shape, 48)
    with torch.inference_mode():
        expected = linear.double()(inputs.double()).float()
        torch.testing.assert_close(PackedLinear(linear.float())(inputs), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN")
def test_layers_are_packed_deep_down() -> None:
    """Linear layers at any depth are replaced; a subclass may mean something else by its weights, and stays."""

    class Special(torch.nn.Linear):  # type: ignore[misc]
        pass

    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), Special(8, 8))
    model = torch.nn.Sequential(block, torch.nn.Linear(8, 4))
    inputs = torch.randn(3, 8)
    with torch.inference_mode():
        expected = model(inputs)
        pack_linear_layers(model)
        torch.testing.assert_close(model(inputs), expected)
    assert [type(layer) for layer in (*block, model[1])] == [PackedLinear, torch.nn.ReLU, Special, PackedLinear]


def test_only_the_chosen_places_get_logits() -> None:
    """The last layer yields a row for each place asked for, in that order, in float32."""
    linear = torch.nn.Linear(6, 9, bias=True).bfloat16()
    layer = LogitsLayer(linear)
    layer.places = [(1, 0), (0, 3), (1, 0)]
    hidden = torch.randn(2, 4, 6).bfloat16()
    with torch.inference_mode():
        everything = linear.double()(hidden.double()).float()
        logits = layer(hidden)
    torch.testing.assert_close(logits, torch.stack([everything[1, 0], everything[0, 3], everything[1, 0]])[None])
