"""Sixteen numbers at a time: the few vector operations that the fused loops are made of.

A compiler vectorises plain loops, but not loops that drop elements by the bits of a word. Written with these
operations such a loop costs one instruction an operation where the processor has masked vectors; elsewhere the
compiler splits them up. Arrays are flat, and rows in them padded with zeros to a multiple of `LANES`.
"""

import math

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 16
_INDEX = ir.IntType(32)


class Lanes(types.Type):
    """`LANES` floating-point numbers in vector registers."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        element = ir.FloatType() if lanes.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, lanes, ir.VectorType(element, LANES))


def _address(context, builder, row_type, row, start):
    data = context.make_array(row_type)(context, builder, row).data
    vector = context.get_value_type(Lanes(row_type.dtype))
    return builder.bitcast(builder.gep(data, [start]), vector.as_pointer())


def _suffix(vector):
    return "f32" if vector.type.element == ir.FloatType() else "f64"


def _builtin(builder, name, result, arguments):
    found = builder.module.globals.get(name)
    return found or ir.Function(builder.module, ir.FunctionType(result, arguments), name)


@intrinsic
def load(_, row, start):
    """row[start : start + LANES]"""

    def generate(context, builder, signature, arguments):
        return builder.load(_address(context, builder, row, *arguments), align=row.dtype.bitwidth // 8)

    return Lanes(row.dtype)(row, types.int64), generate


@intrinsic
def store(_, row, start, lanes):
    """row[start : start + LANES] = lanes"""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, row, *arguments[:2])
        builder.store(arguments[2], address, align=row.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(row, types.int64, lanes), generate


@intrinsic
def splat(_, number):
    """The same number in all lanes."""
    lanes = Lanes(number)

    def generate(context, builder, signature, arguments):
        vector = context.get_value_type(lanes)
        undefined = ir.Constant(vector, ir.Undefined)
        single = builder.insert_element(undefined, arguments[0], _INDEX(0))
        return builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES))

    return lanes(number), generate


@intrinsic
def pick(_, lanes, bits):
    """lanes where the low bits of `bits` (uint64) are set, 0 elsewhere"""

    def generate(context, builder, signature, arguments):
        low = builder.trunc(arguments[1], ir.IntType(LANES))
        mask = builder.bitcast(low, ir.VectorType(ir.IntType(1), LANES))
        return builder.select(mask, arguments[0], ir.Constant(arguments[0].type, None))

    return lanes(lanes, types.uint64), generate


@intrinsic
def add(_, x, y):
    """x + y"""

    def generate(context, builder, signature, arguments):
        return builder.fadd(*arguments)

    return x(x, y), generate


@intrinsic
def multiply_add(_, x, y, z):
    """x·y + z"""

    def generate(context, builder, signature, arguments):
        product = builder.fmul(arguments[0], arguments[1], flags=("contract",))
        return builder.fadd(product, arguments[2], flags=("contract",))

    return x(x, y, z), generate


@intrinsic
def adagrad_step(_, gradient, squares, rate, epsilon):
    """rate · gradient / (√squares + epsilon)"""

    def generate(context, builder, signature, arguments):
        gradient, squares, rate, epsilon = arguments
        root = _builtin(builder, f"llvm.sqrt.v{LANES}{_suffix(squares)}", squares.type, [squares.type])
        below = builder.fadd(builder.call(root, [squares]), epsilon)
        return builder.fdiv(builder.fmul(rate, gradient), below)

    return gradient(gradient, squares, rate, epsilon), generate


@intrinsic
def total(_, lanes):
    """The sum over the lanes."""

    def generate(context, builder, signature, arguments):
        vector = arguments[0].type
        name = f"llvm.vector.reduce.fadd.v{LANES}{_suffix(arguments[0])}"
        function = _builtin(builder, name, vector.element, [vector.element, vector])
        return builder.call(function, [ir.Constant(vector.element, 0.0), arguments[0]], fastmath=("reassoc",))

    return lanes.dtype(lanes), generate


@intrinsic
def tanh(_, x):
    """tanh x, as e / (e + 2) with e = exp(2x) − 1, which keeps its digits where x is small.

    With k the whole number next to 2x / ln 2 and r = 2x − k ln 2 it is e = 2^k (exp(r) − 1) + (2^k − 1).
    """
    single = x.dtype == types.float32
    integer, digits, bias, terms = (ir.IntType(32), 23, 127, 7) if single else (ir.IntType(64), 52, 1023, 13)

    def generate(context, builder, signature, arguments):
        vector = context.get_value_type(x)
        whole = ir.VectorType(integer, LANES)

        def same(number):
            return ir.Constant(vector, [number] * LANES)

        def multiply_and_add(a, b, c):
            return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

        # 2^k must be a number; beyond ±20 tanh is ±1 to the last digit.
        twice = builder.fadd(arguments[0], arguments[0])
        for beyond, bound in ((">", 40.0), ("<", -40.0)):
            twice = builder.select(builder.fcmp_ordered(beyond, twice, same(bound)), same(bound), twice)
        # The sum with a number this large is rounded to a whole one, and k stands in its last digits.
        large = same(1.5 * 2.0**digits)
        rounded = builder.fadd(builder.fmul(twice, same(1 / math.log(2))), large)
        k = builder.fsub(rounded, large)
        exponent = builder.add(builder.bitcast(rounded, whole), ir.Constant(whole, [bias] * LANES))
        power = builder.bitcast(builder.shl(exponent, ir.Constant(whole, [digits] * LANES)), vector)
        r = multiply_and_add(k, same(-math.log(2)), twice)
        series = same(1 / math.factorial(terms))
        for n in range(terms - 1, 0, -1):
            series = multiply_and_add(series, r, same(1 / math.factorial(n)))
        e = multiply_and_add(power, builder.fmul(series, r), builder.fsub(power, same(1.0)))
        return builder.fdiv(e, builder.fadd(e, same(2.0)))

    return x(x), generate


@intrinsic
def prefetch(_, row, start):
    """Ask for row[start : start + LANES], to be written soon."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(row)(context, builder, arguments[0]).data
        byte = ir.IntType(8).as_pointer()
        function = _builtin(builder, "llvm.prefetch.p0", ir.VoidType(), [byte, _INDEX, _INDEX, _INDEX])
        line = 64 * 8 // row.dtype.bitwidth
        for ahead in range(0, LANES, line):
            place = builder.add(arguments[1], ir.Constant(ir.IntType(64), ahead))
            address = builder.bitcast(builder.gep(data, [place]), byte)
            builder.call(function, [address, _INDEX(1), _INDEX(3), _INDEX(1)])
        return context.get_dummy_value()

    return types.void(row, types.int64), generate
