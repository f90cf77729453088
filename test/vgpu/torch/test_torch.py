"""torch on `cuda` without a kernel: devices, memory, gradients, modules, streams, random numbers, files.

    tilewright vgpu run --devices=2 -- pytest test/vgpu/torch/test_torch.py
"""

import copy
import io
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def test_tensors_say_that_they_are_on_the_device():
    x = torch.randn(2, 3, device="cuda")
    assert x.device == torch.device("cuda:0") and x.is_cuda and x.get_device() == 0 and not torch.ones(1).is_cuda
    assert x.type() == "torch.cuda.FloatTensor" and torch.ones(1).type() == "torch.FloatTensor"
    assert "device='cuda:0'" in repr(x) and f"{x.sum():.3f}" == f"{x.cpu().sum():.3f}"
    assert isinstance(x, torch.Tensor) and x.dtype == torch.float32 and x.is_contiguous()
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()


def test_devices_are_described():
    properties = torch.cuda.get_device_properties(0)
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2 and torch.cuda.current_device() == 0
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability() == (9, 5 if torch.version.hip else 0)
    assert properties.multi_processor_count > 100 and properties.total_memory > 1 << 30
    assert properties.name == torch.cuda.get_device_name()
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1
        assert torch.zeros(1, device="cuda").device.index == 1
    assert torch.cuda.current_device() == 0
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(1, device="cuda:2")


@pytest.mark.parametrize("make", [
    lambda d: torch.zeros(3, device=d), lambda d: torch.ones(3, device=d), lambda d: torch.full((3,), 2.0, device=d),
    lambda d: torch.arange(3, device=d), lambda d: torch.tensor([1, 2, 3], device=d), lambda d: torch.eye(3, device=d),
    lambda d: torch.as_tensor([1.0, 2.0], device=d), lambda d: torch.linspace(0, 1, 3, device=d),
    lambda d: torch.zeros_like(torch.ones(3), device=d), lambda d: torch.ones(3).new_tensor([1, 2], device=d),
    lambda d: torch.randperm(1, device=d), lambda d: torch.ones(3).to(d), lambda d: torch.ones(3).to(device=d, dtype=torch.float32),
    lambda d: torch.ones(1, 3).expand(2, 3).to(d), lambda d: torch.arange(6.0).view(2, 3).t().to(d),
    lambda d: torch.arange(10)[::2].to(d), lambda d: torch.tensor(torch.ones(2), device=d)])  # fmt: skip
def test_factories_and_moves(make):
    there, here = make("cuda"), make("cpu")
    assert there.is_cuda and not here.is_cuda
    assert torch.equal(there.cpu(), here) and there.stride() == here.clone().stride() and there.dtype == here.dtype


def test_a_move_copies_and_a_second_one_does_not():
    host = torch.zeros(4)
    there = host.cuda()
    host.fill_(1)
    assert there.sum().item() == 0
    assert there.cuda() is there and there.to("cuda") is there and there.to(there.device) is there
    back = there.cpu()
    there.fill_(5)
    assert back.sum().item() == 0
    host.copy_(there)
    assert host.tolist() == [5.0] * 4 and not host.is_cuda


def test_views_share_memory():
    x = torch.zeros(4, 4, device="cuda")
    x[1:3, ::2] = 1
    x.view(16)[15] = 7
    assert x.sum().item() == 11 and x.t().data_ptr() == x.data_ptr() and x.t().is_cuda
    x.t_()
    assert x.shape == (4, 4) and x[0, 1].item() == 1
    y = torch.empty(0, device="cuda")
    torch.add(x, 1, out=y)
    assert y.is_cuda and torch.equal(y, x + 1)
    y.resize_(8, 8)
    assert y.numel() == 64 and y.is_cuda


def test_operands_on_two_devices_are_an_error():
    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + torch.ones(3)
    with pytest.raises(RuntimeError, match="cuda:0 and cuda:1"):
        x * torch.ones(3, device="cuda:1")
    assert (x + torch.tensor(2.0)).tolist() == [3.0] * 3  # a number


def test_memory_is_counted_and_can_run_out():
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device="cuda", dtype=torch.uint8)
    assert torch.cuda.memory_allocated() == before + (1 << 20) <= torch.cuda.max_memory_allocated()
    free, total = torch.cuda.mem_get_info()
    assert 0 < free < total
    with pytest.raises(getattr(torch.cuda, "OutOfMemoryError", RuntimeError), match="CUDA out of memory"):
        torch.empty(total + 1, device="cuda", dtype=torch.uint8)
    del x
    assert torch.cuda.memory_allocated() == before


def test_half_precision_has_every_operation():
    x = torch.randn(8, 8, device="cuda", dtype=torch.float16)
    for result in (x @ x, torch.softmax(x, -1), x.exp(), x.sum(), F.layer_norm(x, (8,)), F.gelu(x), x.std(), x.cumsum(0)):
        assert result.dtype == torch.float16 and result.is_cuda
    assert torch.equal(x @ x, (x.float() @ x.float()).half())
    assert torch.randn(3, device="cuda", dtype=torch.bfloat16).dtype == torch.bfloat16
    assert x.normal_().dtype == torch.float16


def test_numbers_are_operands():
    """Also of operations to which torch passes a tensor in place of the number."""
    x = torch.arange(4, dtype=torch.int32, device="cuda")
    for result, want in ((x | 4, [4, 5, 6, 7]), (x ^ 1, [1, 0, 3, 2]), (x << 2, [0, 4, 8, 12]), (8 - x, [8, 7, 6, 5])):
        assert result.tolist() == want and result.dtype == torch.int32 and result.is_cuda
    assert (x + 0.5).dtype == torch.float32 and (x > 1.5).tolist() == [False, False, True, True]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.norm = nn.Linear(5, 7), nn.Linear(7, 3), nn.LayerNorm(7)
        self.register_buffer("scale", torch.full((1,), 0.5))

    def forward(self, x):
        return self.two(self.norm(F.gelu(self.one(x)))) * self.scale


def losses(device, steps=10):
    torch.manual_seed(1)
    model = Model().to(device)
    x, wanted = torch.randn(4, 5).to(device), torch.randn(4, 3).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), wanted)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    assert all(parameter.grad.device == parameter.device for parameter in model.parameters())
    return found, model


def test_training_is_that_of_the_cpu():
    there, model = losses("cuda")
    here, _ = losses("cpu")
    assert there == here and there[-1] < there[0] / 2
    assert all(p.is_cuda and isinstance(p, nn.Parameter) and p.is_leaf for p in model.parameters()) and model.scale.is_cuda
    twin = copy.deepcopy(model)
    assert twin.one.weight.is_cuda and twin.one.weight.data_ptr() != model.one.weight.data_ptr()
    assert not model.cpu().one.weight.is_cuda


def test_shared_parameters_stay_shared():
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    both = nn.ModuleList([first, second]).cuda()
    assert both[0].weight is both[1].weight


def test_gradients_cross_devices():
    host = torch.ones(3, requires_grad=True)
    (host.cuda() * torch.tensor([1.0, 2.0, 3.0], device="cuda")).cpu().sum().backward()
    assert host.grad.tolist() == [1.0, 2.0, 3.0] and not host.grad.is_cuda


def test_functions_get_gradients_on_the_device():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            assert first.is_cuda and second.is_cuda and second.sum().item() == 0
            return first * 2 + second * 3

    x = torch.ones(3, device="cuda", requires_grad=True)
    Twice.apply(x)[0].sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_autocast_and_gradient_scaling():
    _, model = losses("cuda", steps=1)
    x = torch.randn(4, 5, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        out = model.one(x)
        assert out.dtype == torch.float16 and F.softmax(out, -1).dtype == torch.float32
    assert model.one(x).dtype == torch.float32
    scaler, optimizer = torch.cuda.amp.GradScaler(init_scale=1024.0), torch.optim.SGD(model.parameters(), lr=0.1)
    before = model.one.weight.clone()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x).float().square().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(model.one.weight, before) and scaler.get_scale() == 1024.0
    optimizer.zero_grad()
    scaler.scale(model(x).sum() * float("inf")).backward()
    kept = model.one.weight.clone()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(model.one.weight, kept) and scaler.get_scale() == 512.0


def test_random_numbers_have_a_generator_of_their_own():
    torch.manual_seed(3)
    there, here = torch.randn(3, device="cuda"), torch.randn(3)
    torch.manual_seed(3)
    assert torch.equal(torch.randn(3), here) and torch.equal(torch.randn(3, device="cuda"), there)
    generator = torch.Generator(device="cuda").manual_seed(7)
    assert generator.device.type == "cuda" and isinstance(generator, torch.Generator)
    first = torch.rand(2, device="cuda", generator=generator)
    assert torch.equal(first, torch.rand(2, device="cuda", generator=generator.manual_seed(7)))
    state = torch.cuda.get_rng_state()
    x = torch.rand_like(first)
    torch.cuda.set_rng_state(state)
    assert torch.equal(x, torch.rand_like(first))


def test_streams_and_events():
    stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    event.record()
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream and stream.cuda_stream != 0
        x = torch.ones(4, device="cuda") * 2
    torch.cuda.current_stream().wait_stream(stream)
    end = stream.record_event(torch.cuda.Event(enable_timing=True))
    end.synchronize()
    assert event.elapsed_time(end) >= 0 and end.query() and stream.query() and x.sum().item() == 8
    torch.cuda.synchronize()


def test_graphs_replay_torchs_operations():
    x = torch.ones(3, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2 + 1
        z = y.clone().mul_(y)
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [11.0] * 3 and z.tolist() == [121.0] * 3


def test_files_go_to_the_device_and_back():
    file = io.BytesIO()
    torch.save({"x": torch.arange(3, device="cuda"), "list": [torch.ones(2, device="cuda")]}, file)
    file.seek(0)
    loaded = torch.load(file, map_location="cuda")
    assert loaded["x"].is_cuda and loaded["list"][0].is_cuda and loaded["x"].tolist() == [0, 1, 2]
    file.seek(0)
    assert not torch.load(file, map_location="cpu")["x"].is_cuda


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_gradients_of_norms_use_wide_statistics(kind):
    """As on a GPU, the mean and the deviation of 16-bit inputs are kept in f32: each gradient is rounded once."""
    torch.manual_seed(0)
    x = (-2.3 + 0.5 * torch.randn(64, 256, device="cuda")).to(kind).requires_grad_(True)
    weight = torch.rand(256, device="cuda").to(kind).requires_grad_(True)
    bias = torch.rand(256, device="cuda").to(kind).requires_grad_(True)
    outward = torch.randn(64, 256, device="cuda").to(kind)
    torch.nn.functional.layer_norm(x, (256,), weight, bias).backward(outward)
    wide = [one.detach().cpu().double().requires_grad_(True) for one in (x, weight, bias)]
    torch.nn.functional.layer_norm(wide[0], (256,), *wide[1:]).backward(outward.cpu().double())
    for got, want in zip((x, weight, bias), wide):
        assert got.grad.dtype == kind
        error = (got.grad.cpu().double() - want.grad).abs()
        assert (error <= 0.51 * torch.finfo(kind).eps * want.grad.abs() + 1e-5).all()


def test_pinned_memory():
    x = torch.arange(5.0).pin_memory()
    assert x.is_pinned() and not x.is_cuda and x.cuda(non_blocking=True).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    for made in (
        torch.empty(4, pin_memory=True),
        torch.ones(4, device="cpu", pin_memory=True),
        torch.tensor([1, 2], pin_memory=True),
        torch.zeros_like(x, pin_memory=True),
    ):
        assert made.is_pinned() and not made.is_cuda
    assert torch.full((3,), 2.0, pin_memory=True).cuda().tolist() == [2.0, 2.0, 2.0]
    assert not torch.empty(4, pin_memory=False).is_pinned()


def test_threads_have_the_device():
    results = []
    thread = threading.Thread(target=lambda: results.append((torch.ones(3, device="cuda") * 2).sum().item()))
    thread.start()
    thread.join()
    assert results == [6.0]
