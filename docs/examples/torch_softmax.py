"""A fused softmax in Triton on torch tensors, with a mistake that no GPU reports: `python torch_softmax.py`."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


def softmax(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


def softmax_of_padded(x, columns):
    """As softmax(), for rows that are padded to a multiple of 16 columns."""
    padded = torch.empty(x.shape[0], triton.cdiv(columns, 16) * 16, device=x.device)
    padded[:, :columns] = x
    return softmax(padded)[:, :columns]  # what lies in the padding takes part


if __name__ == "__main__":
    x = torch.randn(4, 100, device="cuda")
    torch.testing.assert_close(softmax(x), torch.softmax(x, dim=1))
    print("softmax on", torch.cuda.get_device_name(), "agrees with torch")
