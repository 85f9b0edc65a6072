# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Packages that a program has not imported stay out: python -m tests.gpu.imports

In a process of its own, since the tests have imported all of them.
"""

import sys

from tests import devices

PACKAGES = {"torch", "jax", "numba", "cuda.core"}


def main() -> int:
    if reason := devices.why_no_gpu():
        print(f"no GPU to test on: {reason}")
        return 0
    import cupy
    from mpi4py import MPI

    import cudecomp

    before = PACKAGES & sys.modules.keys()  # CuPy may need some of them itself
    config = cudecomp.GridDescConfig(gdims=(8, 8, 8), pdims=(1, 1))
    with cudecomp.Handle(MPI.COMM_SELF) as handle, handle.create_grid(config) as grid:
        stream = cupy.cuda.Stream(non_blocking=True)
        grid.transpose_x_to_y(cupy.zeros(grid.get_pencil_info(0).shape), stream=stream)
        grid.update_halos_x(grid.zeros(0, "float64", (1, 1, 1)), (1, 1, 1))
    imported = PACKAGES & sys.modules.keys() - before
    print(f"imported by cudecomp: {', '.join(sorted(imported)) or 'nothing'}")
    return 1 if imported else 0


if __name__ == "__main__":
    sys.exit(main())
