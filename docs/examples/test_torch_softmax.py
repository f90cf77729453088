"""Tests of torch_softmax.py as its author would write them: `pytest test_torch_softmax.py`."""

import torch
from torch_softmax import softmax, softmax_of_padded


def test_softmax():
    x = torch.randn(4, 100, device="cuda")
    torch.testing.assert_close(softmax(x), torch.softmax(x, dim=1))


def test_rows_of_the_padded_softmax_are_probabilities():
    rows = softmax_of_padded(torch.randn(4, 100, device="cuda"), 100)
    assert rows.shape == (4, 100) and (rows >= 0).all() and (rows <= 1).all()
