# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Diffusion of a field of PyTorch tensors by Fourier transforms along X, Y and Z; needs a GPU for each rank.

    mpirun -n 2 python examples/gpu_torch.py --grid 256 256 256

Each pencil has its own axis last in its tensor, where torch.fft transforms it. Outputs are tensors made beforehand, and
work is on PyTorch's current stream, which is passed explicitly: left out, it would be the default stream, since only
CuPy's current stream is taken by itself. A single mode decays at a rate that is known.
"""

import sys

import numpy as np
import torch
from mpi4py import MPI

import cudecomp
from common import Arrays, Report, X, Y, Z, argument_parser, parse

TIME, DIFFUSIVITY = 0.1, 0.5


def main(arguments=None):
    comm = MPI.COMM_WORLD
    options = parse(argument_parser(__doc__, grid=(64, 64, 64), device=False), arguments, comm)
    arrays, report = Arrays("gpu", comm), Report(comm)
    torch.cuda.set_device(arrays.xp.cuda.Device().id)  # before the Handle, which takes the current device
    config = cudecomp.GridDescConfig(
        gdims=options.grid, pdims=options.pdims, transpose_axis_contiguous=(True, True, True), **arrays.backends
    )
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        x, y, z = (torch.as_tensor(line) for line in grid.coordinates(X, (2 * np.pi,) * 3))
        initial = (torch.sin(2 * x) * torch.cos(y) * torch.sin(z)).to(torch.complex128).contiguous().cuda()
        final = diffuse(grid, initial)
        decay = np.exp(-DIFFUSIVITY * (2**2 + 1 + 1) * TIME)
        error = float((final - decay * initial).abs().max()) if final.numel() else 0.0
        report.check(f"largest error after a time of {TIME}", comm.allreduce(error, MPI.MAX), 1e-13)
    return report.exit_code


def diffuse(grid, u):
    """The field after TIME, on X-pencils."""
    stream = torch.cuda.current_stream()
    y, z = (torch.empty(grid.get_pencil_info(axis).shape, dtype=u.dtype, device="cuda") for axis in (Y, Z))
    grid.transpose_x_to_y(torch.fft.fft(u), y, stream=stream)
    grid.transpose_y_to_z(torch.fft.fft(y), z, stream=stream)
    kx, ky, kz = (torch.as_tensor(line, device="cuda") for line in grid.wavenumbers(Z, (2 * np.pi,) * 3))
    modes = torch.fft.fft(z) * torch.exp(-DIFFUSIVITY * TIME * (kx**2 + ky**2 + kz**2))
    grid.transpose_z_to_y(torch.fft.ifft(modes), y, stream=stream)
    x = torch.empty_like(u)
    grid.transpose_y_to_x(torch.fft.ifft(y), x, stream=stream)
    return torch.fft.ifft(x)


if __name__ == "__main__":
    sys.exit(main())
