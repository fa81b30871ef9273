"""Moves inside and between arrays, in ways that Numba offers no word for, or compiles at length."""

from __future__ import annotations

from llvmlite import ir
from numba import types
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


@compiled
def copy_row(source, i, target, k):
    """target[k] = source[i]; written so, Numba would compile messages for rows that do not fit."""
    for c in range(source.shape[1]):
        target[k, c] = source[i, c]
