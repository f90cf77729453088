"""A transformer's training step, by default small enough to partition in a second and large enough that every collective of a layer shows.

Gated MLP or a mixture of experts with einsum dispatch, RMS norms, an untied head, value_and_grad and SGD, all in f32. A
`Scheme` says how it is sharded; `rest(x, place)` is called wherever an activation may be constrained, with the name of the place.
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

BATCH, SEQUENCE, WIDTH, HEADS, HEAD, HIDDEN, VOCABULARY, EXPERTS = 16, 48, 128, 8, 16, 384, 320, 8
TYPE = jnp.float32
CAPACITY = SEQUENCE // EXPERTS * 2


@dataclasses.dataclass(frozen=True)
class Scheme:
    """A way to shard the step over a mesh of eight devices."""

    mesh: dict  # name of an axis -> size
    parameters: dict  # name of a parameter -> its sharding; replicated if absent
    data: P = P()
    activations: dict = dataclasses.field(default_factory=dict)  # place -> constraint; none if absent
    experts: bool = False
    scanned: bool = False  # layers are a scan over stacked parameters, not unrolled

    def sharding_of(self, name):
        spec = self.parameters.get(name, P())
        return P(None, *spec) if self.scanned and name in layer_shapes(self.experts) else spec


def global_shapes():
    return {"embedding": (VOCABULARY, WIDTH), "head": (WIDTH, VOCABULARY), "last_norm": (WIDTH,)}


def layer_shapes(experts=False):
    layer = {
        "norm_attention": (WIDTH,), "norm_mlp": (WIDTH,),
        "query": (WIDTH, HEADS, HEAD), "key": (WIDTH, HEADS, HEAD), "value": (WIDTH, HEADS, HEAD), "merge": (HEADS, HEAD, WIDTH),
        "gate": (WIDTH, HIDDEN), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH),
    }  # fmt: skip
    if experts:
        layer |= {
            "router": (WIDTH, EXPERTS), "gate": (EXPERTS, WIDTH, HIDDEN), "up": (EXPERTS, WIDTH, HIDDEN),
            "down": (EXPERTS, HIDDEN, WIDTH),
        }  # fmt: skip
    return layer


def resize(**sizes):
    """Changes the sizes of all programs that are made from now on: resize(WIDTH=8192, TYPE=jnp.bfloat16)."""
    assert all(name in globals() for name in sizes), sizes
    globals().update(sizes)


def parameters(scheme, layers):
    """Shapes of all parameters: {"embedding": …, "layers": [{"query": …}, …]}, or one stacked dictionary for a scan."""

    def shaped(shapes, *stacked):
        return {name: jax.ShapeDtypeStruct((*stacked, *shape), TYPE) for name, shape in shapes.items()}

    layer = layer_shapes(scheme.experts)
    every = shaped(layer, layers) if scheme.scanned else [shaped(layer) for _ in range(layers)]
    return shaped(global_shapes()) | {"layers": every}


def normalize(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * gain


def attention(p, x, rest):
    h = rest(normalize(x, p["norm_attention"]), "norm")
    query, key, value = (rest(jnp.einsum("bsw,whd->bshd", h, p[name]), "heads") for name in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bthd->bhqt", query, key) * HEAD**-0.5
    is_past = jnp.tril(jnp.ones((SEQUENCE, SEQUENCE), bool))
    weights = jax.nn.softmax(jnp.where(is_past, scores, -1e9), axis=-1)
    read = rest(jnp.einsum("bhqt,bthd->bqhd", weights, value), "heads")
    return rest(x + jnp.einsum("bqhd,hdw->bqw", read, p["merge"]), "stream")


def gated_mlp(p, x, rest):
    h = rest(normalize(x, p["norm_mlp"]), "norm")
    hidden = jax.nn.silu(jnp.einsum("bsw,wf->bsf", h, p["gate"])) * jnp.einsum("bsw,wf->bsf", h, p["up"])
    return rest(x + jnp.einsum("bsf,fw->bsw", rest(hidden, "hidden"), p["down"]), "stream")


def mixture(p, x, rest):
    """Each token goes to its best expert, as far as that has room: CAPACITY tokens of a sequence."""
    h = rest(normalize(x, p["norm_mlp"]), "norm")
    chances = jax.nn.softmax(jnp.einsum("bsw,we->bse", h, p["router"]), axis=-1)
    chosen = jax.nn.one_hot(jnp.argmax(chances, axis=-1), EXPERTS)
    slot = (jnp.cumsum(chosen, axis=1) - 1) * chosen
    kept = chosen * (slot < CAPACITY)
    dispatch = rest(kept[..., None] * jax.nn.one_hot(slot.astype(jnp.int32), CAPACITY), "dispatch")
    combine = rest(dispatch * jnp.max(chances, axis=-1)[..., None, None], "dispatch")
    sent = jnp.einsum("bsec,bsw->ebcw", dispatch, h)
    sent = rest(rest(sent, "sent"), "expert")
    hidden = jax.nn.silu(jnp.einsum("ebcw,ewf->ebcf", sent, p["gate"])) * jnp.einsum("ebcw,ewf->ebcf", sent, p["up"])
    answer = rest(jnp.einsum("ebcf,efw->ebcw", rest(hidden, "expert"), p["down"]), "expert")
    return rest(x + jnp.einsum("bsec,ebcw->bsw", combine, rest(answer, "sent")), "stream")


def loss(parameters, tokens, targets, scheme, rest):
    mlp = mixture if scheme.experts else gated_mlp

    def layer(x, p):
        return mlp(p, attention(p, x, rest), rest)

    x = rest(parameters["embedding"][tokens], "stream")
    if scheme.scanned:
        x, _ = jax.lax.scan(lambda x, p: (layer(x, p), None), x, parameters["layers"])
    else:
        for p in parameters["layers"]:
            x = layer(x, p)
    logits = rest(jnp.einsum("bsw,wv->bsv", rest(normalize(x, parameters["last_norm"]), "norm"), parameters["head"]), "logits")
    chosen = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)


def step_of(scheme, constrain: Callable, rate=0.01):
    """The step: (parameters, tokens, targets) to (new parameters, loss). `constrain(x, spec)` knows the mesh."""

    def rest(x, place):
        spec = scheme.activations.get(place)
        return x if spec is None else constrain(x, spec)

    def step(weights, tokens, targets):
        value, gradients = jax.value_and_grad(loss)(weights, tokens, targets, scheme, rest)
        return jax.tree.map(lambda w, g: w - rate * g, weights, gradients), value

    return step


def shardings_of(scheme, weights, to_sharding):
    """The shardings of a tree of parameters. `to_sharding(spec)` knows the mesh."""
    return jax.tree_util.tree_map_with_path(lambda path, _: to_sharding(scheme.sharding_of(path[-1].key)), weights)


def lower(scheme, layers, to_sharding, constrain: Callable):
    """jit(step).lower of the shapes above."""
    weights = parameters(scheme, layers)
    shardings = shardings_of(scheme, weights, to_sharding)
    tokens, data = jax.ShapeDtypeStruct((BATCH, SEQUENCE), jnp.int32), to_sharding(scheme.data)
    jitted = jax.jit(step_of(scheme, constrain), in_shardings=(shardings, data, data), out_shardings=(shardings, None))
    return jitted.lower(weights, tokens, tokens)
