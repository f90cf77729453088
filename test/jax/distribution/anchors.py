"""The rows of the table for training steps: how a transformer's layers are sharded, and what a good partitioner sends for one.

`good` lists the collectives of a layer, as (kind, ranks in a group, count, bytes of all together). Bytes are those of the whole value:
the result of an all-gather, the operand of the others. P is the bytes of a layer's parameters, A those of an activation.
"""

import dataclasses

import transformer
from collectives import Collective
from jax.sharding import PartitionSpec as P
from transformer import BATCH, SEQUENCE, WIDTH, Scheme

MATRICES = 4 * (4 * WIDTH**2 + 3 * WIDTH * transformer.HIDDEN)
NORMS = 4 * 2 * WIDTH
PARAMETERS = MATRICES + NORMS
ACTIVATION = 4 * BATCH * SEQUENCE * WIDTH
EXPERT_DISPATCH = 4 * transformer.EXPERTS * BATCH * transformer.CAPACITY * WIDTH
REPLICATED_OF_EXPERTS = 4 * (4 * WIDTH**2 + WIDTH * transformer.EXPERTS) + NORMS


@dataclasses.dataclass(frozen=True)
class Anchor:
    title: str
    scheme: Scheme
    good: list  # of Collective
    layers: tuple = (1, 2)  # a layer is the difference of these two programs


def everywhere(spec, *but):
    places = ("norm", "heads", "stream", "hidden", "logits", "expert", "dispatch")
    return {place: spec for place in places if place not in but}


def tensor_parallel(batch, sequence):
    """Constraints of activations: heads and hidden units over "model", the residual stream over `sequence` as well."""
    return {
        "stream": P(batch, sequence), "norm": P(batch), "heads": P(batch, None, "model"),
        "hidden": P(batch, None, "model"), "logits": P(batch, None, "model"),
    }  # fmt: skip


FSDP = {
    "embedding": P(None, "fsdp"), "head": P("fsdp"), "last_norm": P("fsdp"), "norm_attention": P("fsdp"), "norm_mlp": P("fsdp"),
    "query": P("fsdp"), "key": P("fsdp"), "value": P("fsdp"), "merge": P(None, None, "fsdp"),
    "gate": P("fsdp"), "up": P("fsdp"), "down": P(None, "fsdp"),
}  # fmt: skip
TENSOR = {
    "head": P(None, "model"), "query": P(None, "model"), "key": P(None, "model"), "value": P(None, "model"), "merge": P("model"),
    "gate": P(None, "model"), "up": P(None, "model"), "down": P("model"),
}  # fmt: skip
BOTH = {
    "embedding": P(None, "fsdp"), "head": P("fsdp", "model"),
    "query": P("fsdp", "model"), "key": P("fsdp", "model"), "value": P("fsdp", "model"), "merge": P("model", None, "fsdp"),
    "gate": P("fsdp", "model"), "up": P("fsdp", "model"), "down": P("model", "fsdp"),
}  # fmt: skip
EXPERT = {name: P("expert") for name in ("gate", "up", "down")}
ONE_STEP = everywhere(P("expert"), "dispatch", "hidden")
TWO_STEPS = everywhere(P("expert"), "hidden") | {"sent": P(None, "expert")}

REDUCED = Collective("all_reduce", 8, 9, PARAMETERS)
GATHERED, SCATTERED = Collective("all_gather", 8, 9, PARAMETERS), Collective("reduce_scatter", 8, 9, PARAMETERS)
EXCHANGED = [Collective("all_to_all", 8, 4, 4 * EXPERT_DISPATCH // 8), Collective("all_reduce", 8, 7, REPLICATED_OF_EXPERTS)]
DATA_2 = Collective("all_reduce", 2, 9, MATRICES // 4 + NORMS)
FSDP_4 = [Collective("all_gather", 4, 7, MATRICES // 2), Collective("reduce_scatter", 4, 7, MATRICES // 2), Collective("all_reduce", 4, 2, NORMS)]

ANCHORS = {
    "dp": Anchor("DP 8", Scheme({"data": 8}, {}, P("data")), [REDUCED]),
    "fsdp": Anchor(
        "FSDP 8, activations constrained",
        Scheme({"fsdp": 8}, FSDP, P("fsdp"), everywhere(P("fsdp"))),
        [GATHERED, SCATTERED],
    ),
    "fsdp_free": Anchor("FSDP 8, no constraints", Scheme({"fsdp": 8}, FSDP, P("fsdp")), [GATHERED, SCATTERED]),
    "fsdp_scan": Anchor(
        "FSDP 8, scan over layers",
        Scheme({"fsdp": 8}, FSDP, P("fsdp"), everywhere(P("fsdp")), scanned=True),
        [Collective("all_gather", 8, 18, 2 * PARAMETERS), SCATTERED],
        layers=(2, 3),
    ),
    "tp": Anchor("TP 8", Scheme({"model": 8}, TENSOR), [Collective("all_reduce", 8, 4, 4 * ACTIVATION)]),
    "tp_sp": Anchor(
        "TP+SP 8",
        Scheme({"model": 8}, TENSOR, activations=tensor_parallel(None, "model")),
        [
            Collective("all_gather", 8, 4, 4 * ACTIVATION),
            Collective("reduce_scatter", 8, 4, 4 * ACTIVATION),
            Collective("all_reduce", 8, 2, NORMS),
        ],
    ),
    "dp_tp": Anchor(
        "DPxTP 2x4",
        Scheme({"data": 2, "model": 4}, TENSOR, P("data"), tensor_parallel("data", None)),
        [Collective("all_reduce", 4, 4, 2 * ACTIVATION), DATA_2],
    ),
    "dp_tp_sp": Anchor(
        "DPxTP+SP 2x4",
        Scheme({"data": 2, "model": 4}, TENSOR, P("data"), tensor_parallel("data", "model")),
        [
            Collective("all_gather", 4, 4, 2 * ACTIVATION),
            Collective("reduce_scatter", 4, 4, 2 * ACTIVATION),
            Collective("all_reduce", 4, 2, NORMS),
            DATA_2,
        ],
    ),
    "fsdp_tp": Anchor(
        "FSDPxTP 4x2",
        Scheme({"fsdp": 4, "model": 2}, BOTH, P("fsdp"), tensor_parallel("fsdp", None)),
        [*FSDP_4, Collective("all_reduce", 2, 4, ACTIVATION)],
    ),
    "fsdp_tp_sp": Anchor(
        "FSDPxTP+SP 4x2",
        Scheme({"fsdp": 4, "model": 2}, BOTH, P("fsdp"), tensor_parallel("fsdp", "model")),
        [
            *FSDP_4,
            Collective("all_gather", 2, 4, ACTIVATION),
            Collective("reduce_scatter", 2, 4, ACTIVATION),
            Collective("all_reduce", 2, 2, NORMS),
        ],
    ),
    "ep": Anchor(
        "EP 8, one constraint", Scheme({"expert": 8}, EXPERT, P("expert"), ONE_STEP, experts=True), EXCHANGED
    ),
    "ep_steps": Anchor(
        "EP 8, constraints in two steps", Scheme({"expert": 8}, EXPERT, P("expert"), TWO_STEPS, experts=True), EXCHANGED
    ),
}  # fmt: skip
