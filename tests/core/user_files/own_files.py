"""The kernels of `files/` at guessed launches, and what each computes, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from core.guessing.launch_guess import guess_launch
from core.recording.record_launch import record
from core.trace import Trace
from core.user_files.launch_texts import file_workload
from core.user_files.sources_and_headers import read_source

FOLDER = Path(__file__).parent / "files"
Values = Mapping[str, Any]
"""A launch's arrays before it and its scalars, by name; of a result the arrays after it."""


@cache
def source_of(file: str) -> str:
    return read_source(FOLDER / f"{file}.cu")


def run(file: str, kernel: str, kind: str = "as_written", **given: str) -> Trace:
    source = source_of(file)
    launch = guess_launch(source, f"{file}.cu", kernel)
    if given:
        arguments = tuple((name, given.get(name, text)) for name, text in launch.arguments)
        launch = replace(launch, arguments=arguments)
    return record(file_workload(source, launch), kind=kind)


def _norm(v: Values) -> Values:
    return {"out": np.r_[(v["x"][: v["n"]] ** 2).sum(), np.zeros(len(v["out"]) - 1)]}


def _particles(v: Values) -> Values:
    n, dt = int(v["params.n"]), float(v["params.dt"])
    pull = sum(float(c) * v["p.mass"] ** k for k, c in enumerate(v["params.coeff"]))
    pos, vel = v["p.pos"].copy(), v["p.vel"].copy()
    vel[:n, 0] += dt * pull[:n]
    origin = [float(v[f"params.origin.{axis}"]) for axis in "xyz"]
    pos[:n, :3] += dt * vel[:n, :3] + origin
    return {"p.pos": pos, "p.vel": vel}


def _carved(v: Values) -> Values:
    x, keys, out = v["x"], v["keys"] % 8, np.zeros(len(v["x"]))
    for first in range(0, len(x), 64):
        part, key = x[first : first + 64], keys[first : first + 64]
        counts = np.bincount(key, minlength=8)
        after = np.pad(part, (0, 64 - len(part)))[(np.arange(len(part)) + 1) % 64]
        out[first : first + 64] = np.where(part > 0, part * counts[key], -after)
    return {"out": out}


def _gelu(v: Values) -> Values:
    x = v["x"]
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return {"y": np.r_[0.5 * x * (1 + np.tanh(inner)), np.zeros(len(v["y"]) - len(x))]}


def _attend(v: Values) -> Values:
    q, k, w = (v[name].reshape(-1, 4) for name in ("queries", "keys", "values"))
    score = np.exp(q @ k.T * float(v["scale"]))
    return {"out": (score @ w / score.sum(1, keepdims=True)).reshape(-1)}


def _blend(v: Values) -> Values:
    grey = sum(float(v[f"weights.{a}"]) * v["src"][..., i] for i, a in enumerate("xyz"))
    grey = (grey * float(v["alpha"])).astype(np.int64)
    fits = np.where(grey < 256, grey, -1)  # what a conversion beyond 255 gives is CUDA's own
    return {"dst": np.stack([fits, fits, fits, v["src"][..., 3]], -1)}


def _find(v: Values) -> Values:
    text, word = v["text"].astype(np.int8).tobytes(), v["word"].tobytes()[: int(v["wordLength"])]
    starts = [i for i in range(len(text)) if text.startswith(word, i)]
    return {"found": [len(starts)]}


def _keys(v: Values) -> Values:
    return {"counts": np.bincount(v["keys"][: v["n"]] & 7, minlength=8)}


def _rows(v: Values) -> Values:
    ptr, at = v["rowPtr"], v["columnIdx"]
    rows = [slice(first, last) for first, last in pairwise(ptr)]
    return {"y": [(v["values"][row] * v["x"][at[row]]).sum() for row in rows]}


def _product(v: Values) -> Values:
    return {"result.cells": v["left.cells"] @ v["top.cells"]}


def _invert(v: Values) -> Values:
    rows, width = v["img.data"].copy(), int(v["img.width"])
    rows[:, :width] = 255 - rows[:, :width]  # the pitch is larger
    return {"img.data": rows}


def _viewed(v: Values) -> Values:
    return {"m.data": v["m.data"] * float(v["p.a"]) + int(v["p.b"])}


def _border(v: Values) -> Values:
    picture, width = v["picture"].copy(), int(v["width"])
    colour = [float(v[f"tint.{a}"]) * f for a, f in zip("xyz", (20, 30, 40), strict=True)]
    edge = np.ones(picture.shape[:2], bool)
    edge[width:-width, width:-width] = False
    picture[edge] = [*map(int, colour), 255]
    return {"picture": picture}


def _blur(v: Values) -> Values:
    w, h, src, dst = int(v["width"]), int(v["height"]), v["src"], v["dst"].copy()
    for y in range(h):
        for x in range(w):
            part = src[max(0, y - 1) : min(h, y + 2), max(0, x - 1) : min(w, x + 2)]
            dst[y, x] = part.sum() // part.size
    return {"dst": dst}


def _every_third(v: Values) -> Values:
    taken = v["in"].reshape(-1)[: int(v["n"]) : 3]
    return {"out": np.r_[taken, np.zeros(v["out"].size - len(taken))].reshape(v["out"].shape)}


def _lists(v: Values) -> Values:
    i = np.arange(len(v["sums"]))
    each = np.where(i < int(v["n"]), i * (i % 5) * (i % 5 + 1) // 2, 0)
    return {"sums": each}


def _shapes(v: Values) -> Values:
    t = np.arange(len(v["areas"]))
    return {"areas": np.where(t % 2, math.pi * t * t, t * t) + t % 16}


def _expand(v: Values) -> Values:
    level, depth = v["level"].copy(), int(v["depth"])
    for vertex in v["frontier"][: v["size"]]:
        reached = v["edges"][v["offsets"][vertex] : v["offsets"][vertex + 1]]
        level[reached] = np.where(level[reached] == -1, depth + 1, level[reached])
    return {"level": level}


def _convolve(v: Values) -> Values:
    n, radius = int(v["n"]), int(v["radius"])
    summed = np.convolve(v["in"][:n], v["weights"][2 * radius :: -1])[radius : radius + n]
    return {"out": np.r_[summed * float(v["gain"]), np.zeros(len(v["out"]) - n)]}


def _bits(v: Values) -> Values:
    x, n = v["in"][: v["n"]], int(v["n"])
    byte = [(x >> 8 * i) & 255 for i in range(4)]
    signed = [b - ((b & 128) << 1) for b in byte]
    first = np.where(x > 1000, (x >> 4) & 255, 7)
    places = (x[:, None] >> np.arange(32)) & 1
    lowest = np.where(x > 0, places.argmax(1) + 1, 0)
    leading = np.where(x > 0, places[:, ::-1].argmax(1), 32)
    turned = places[:, :8] @ (128 >> np.arange(8))
    chosen = ((first >> 16) & 255) | ((first & 255) << 8) | (byte[2] << 16) | (byte[0] << 24)
    shifted = ((first << 3) & 0xFFFFFFFF) | (x >> 29)
    r = first + places.sum(1) + leading * 3 + lowest * 5 + turned + chosen % 100 + shifted % 7
    products = sum(s * (4 - i) for i, s in enumerate(signed)) + 5
    return {"out": np.r_[r ^ (products & 0xFFFFFFFF), np.zeros(len(v["out"]) - n, np.int64)]}


Case = tuple[str, str, Callable[[Values], Values], dict[str, str]]


def _cluster_bins(v: Values) -> Values:
    return {"bins": v["bins"] + np.bincount(v["values"] % 96, minlength=96)}


def _neighbours(v: Values) -> Values:
    whole = np.pad(v["in"], (0, 256 - len(v["in"])))  # one cluster of four blocks of 64
    return {"out": np.roll(whole, -64)[: len(v["in"])] - v["in"]}


CASES: dict[str, Case] = {
    kernel: (file, kernel, expected, given)
    for file, kernel, expected, given in [
        ("norm", "norm2<float>", _norm, {}),
        ("functor", "transform<Affine>",
         lambda v: {"out": float(v["f.a"]) * v["in"] + float(v["f.b"])}, {"f.b": "-0.5"}),
        ("functor", "invert", _invert, {}),
        ("functor", "blend", _blend, {"weights.x": "0.25", "weights.y": "0.125",
                                      "weights.z": "0.5", "alpha": "1.0"}),
        ("particles", "integrate", _particles, {"params.n": "200", "params.origin.y": "-3"}),
        ("carved", "carved", _carved, {}),
        ("idioms", "gelu_half", _gelu, {}),
        ("idioms", "clampf", lambda v: {"x": np.clip(v["x"], -0.5, 0.5)}, {}),
        ("attention", "attend<4, 32>", _attend, {}),
        ("search", "find", _find, {"text": "ones:int8[300]", "word": "1,1,1"
                                   + ",0" * 13, "wordLength": "3"}),
        ("search", "countKeys", _keys, {}),
        ("graph", "rows", _rows, {}),
        ("graph", "expand", _expand, {"level": f"@{FOLDER / 'levels.npy'}", "depth": "4"}),
        ("graph", "roots", lambda v: {"parent": np.arange(250)}, {}),
        ("blocks", "product", _product, {}),
        ("templates", "fold<float, Plus>",
         lambda v: {"out": np.r_[np.zeros(50), v["x"][:50].sum(), np.zeros(49)]}, {}),
        ("templates", "pack<int, 1, 2, 3>",
         lambda v: {"x": np.r_[np.full(32, 6), np.zeros(68)]}, {}),
        ("templates", "viewed<double>", _viewed, {"p.b": "-7"}),
        ("templates", "cast<float, int>", lambda v: {"b": np.trunc(v["a"])},
         {"a": f"@{FOLDER / 'reals.npy'}"}),
        ("made", "plus_float", lambda v: {"out": v["left"] + v["right"]}, {}),
        ("made", "times_double", lambda v: {"out": v["left"] * v["right"]}, {}),
        ("made", "border", _border, {"width": "5"}),
        ("pitched", "blur", _blur, {}),
        ("course", "tiledProduct", lambda v: {"C": v["A"] @ v["B"]}, {}),
        ("course", "turn",
         lambda v: {"out": v["in"].T.reshape(v["out"].shape)}, {}),
        ("course", "countBins",
         lambda v: {"bins": np.bincount(v["values"].astype(np.int64) % 64, minlength=64)}, {}),
        ("course", "everyThird", _every_third, {}),
        ("heap", "lists", _lists, {}),
        ("heap", "shapes", _shapes, {}),
        ("spaces", "convolve", _convolve, {"weights": "0.5,-1,0.25,3,2", "radius": "2",
                                           "gain": "-1.5"}),
        ("assembly", "bits", _bits, {"in": "index:uint32[90000]"}),
        ("lists", "keys", lambda v: {"out": np.arange(250) ** 2 + 1000}, {"side": "5"}),
        ("lists", "turned<float, 64>",
         lambda v: {"out": np.r_[v["in"], np.zeros(-len(v["in"]) % 64)]
                    .reshape(-1, 64)[:, ::-1].reshape(-1)[: len(v["in"])]}, {}),
        ("partners", "histogram<48>", _cluster_bins, {}),
        ("partners", "neighbours", _neighbours, {}),
    ]
}  # fmt: skip
