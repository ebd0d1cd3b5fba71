"""Makes sums come out the same on every processor: to be imported before numpy, torch and numba, which then read it.

Some of the book's models are trained with steps so large that a last digit decides where they end. So chapters use one
thread, one order of sums, and of an x86-64 processor the instructions that those of 2013 have (AVX2); on another kind
of processor, or an older one, sums may differ. What trains outside the book is not touched.
"""

import os
import platform
from pathlib import Path

CPU = Path("/proc/cpuinfo")
AVX2 = " avx2 " in CPU.read_text() if CPU.exists() else platform.machine().lower() in ("x86_64", "amd64")

SAME_SUMS = {"OMP_NUM_THREADS": "1"}
if AVX2:
    SAME_SUMS |= {
        "MKL_CBWR": "COMPATIBLE",  # torch's products of matrices
        "ONEDNN_MAX_CPU_ISA": "AVX2",  # its recurrent layers
        "ATEN_CPU_CAPABILITY": "avx2",  # its own loops
        "OPENBLAS_CORETYPE": "Haswell",  # numpy's products of matrices
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # its own loops
        "NUMBA_CPU_NAME": "haswell",  # the loops of training
        "NUMBA_CPU_FEATURES": "",  # none but those of this processor
    }
os.environ.update(SAME_SUMS)
