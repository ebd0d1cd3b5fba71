"""Makes sums come out the same on every processor: to be imported before numpy and torch, which then read it.

Some of the book's models are trained with steps so large that a last digit decides where they end. So chapters use one
thread, one order of sums, and no instructions that younger processors alone have; on a processor of another make or
without AVX2 sums may still differ. What trains outside the book is not slowed.
"""

import os

SAME_SUMS = {
    "OMP_NUM_THREADS": "1",
    "MKL_CBWR": "COMPATIBLE",  # torch's products of matrices
    "ATEN_CPU_CAPABILITY": "avx2",  # its own loops
    "OPENBLAS_CORETYPE": "Haswell",  # numpy's products of matrices
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # its own loops
}
os.environ.update(SAME_SUMS)
