"""Moves inside and between arrays, in ways that Numba offers no word for, or compiles at length."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from loynes.kernels.cpu.compiled import compiled


@intrinsic
def move(typing_context, array, to, start, count):
    """array[to : to + count] = array[start : start + count], as memmove; indices are trusted."""
    item_bytes = array.dtype.bitwidth // 8

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        target = builder.bitcast(builder.gep(data, [arguments[1]]), byte_pointer)
        source = builder.bitcast(builder.gep(data, [arguments[2]]), byte_pointer)
        length = builder.mul(arguments[3], ir.Constant(word, item_bytes))
        memmove = builder.module.declare_intrinsic("llvm.memmove", [byte_pointer, byte_pointer, word])
        builder.call(memmove, [target, source, length, ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, types.int64), generate


# Doubles that are handled at once: a register of AVX-512, two of AVX2.
LANES = 8


def aligned(*shape: int) -> np.ndarray:
    """Room for doubles, all infinite, that begins at a cache line: registers of LANES then never span two."""
    count, line = int(np.prod(shape)), 8 * LANES
    room = np.full(count + LANES, np.inf)
    begin = -room.ctypes.data % line // 8
    return room[begin : begin + count].reshape(shape)


@intrinsic
def clamp(typing_context, array, begin, shift, v, count):
    """array[i] = min(array[i + shift], max(v, array[i])) for i from `begin`, `count` times LANES entries, shift >= 1.

    Indices are trusted, array is contiguous. Each register is read before it is written, and what a shifted read finds
    behind it has not been written yet: the same numbers as entry by entry. Numba's loop of the same would be taken 32
    entries at a time, and those left over one by one.
    """

    def generate(context, builder, signature, arguments):
        values, begin, shift, v, count = arguments
        word, lanes = ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)
        undefined, first = ir.Constant(lanes, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        least = builder.shuffle_vector(builder.insert_element(undefined, v, first), undefined, everywhere)
        data = context.make_array(signature.args[0])(context, builder, values).data
        start = builder.gep(data, [begin])
        with cgutils.for_range(builder, count, intp=word) as loop:
            here = builder.gep(start, [builder.mul(loop.index, ir.Constant(word, LANES))])
            target = builder.bitcast(here, lanes.as_pointer())
            own = builder.load(target, align=8)
            behind = builder.load(builder.bitcast(builder.gep(here, [shift]), lanes.as_pointer()), align=8)
            raised = builder.select(builder.fcmp_ordered(">", least, own), least, own)
            median = builder.select(builder.fcmp_ordered("<", behind, raised), behind, raised)
            builder.store(median, target, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, types.float64, types.int64), generate


@compiled
def copy_row(source, i, target, k):
    """target[k] = source[i]; written so, Numba would compile messages for rows that do not fit."""
    for c in range(source.shape[1]):
        target[k, c] = source[i, c]
