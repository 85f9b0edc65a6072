# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA GPUs of this machine, from NVML or the driver's /proc: without a CUDA context, and without a package."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NVML = "libnvidia-ml.so.1"
PROC = Path("/proc/driver/nvidia")


@dataclass(frozen=True)
class Gpu:
    """A GPU by its name; memory in bytes, None where the source does not tell."""

    name: str
    memory: int | None = None


@dataclass(frozen=True)
class Gpus:
    """The GPUs, the version of the driver ("" if there is none), and what told of them."""

    devices: tuple[Gpu, ...]
    driver: str
    source: str


def find(open_library: Callable[[str], Any] = ctypes.CDLL, proc: Path = PROC) -> Gpus:
    """The GPUs of the machine, including those that CUDA_VISIBLE_DEVICES hides."""
    return _from_nvml(open_library) or _from_proc(proc) or Gpus((), "", "no NVIDIA driver")


class _Memory(ctypes.Structure):
    total: int
    free: int
    used: int
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def _from_nvml(open_library: Callable[[str], Any]) -> Gpus | None:
    try:
        nvml = open_library(NVML)
    except OSError:
        return None
    if nvml.nvmlInit_v2() != 0:
        return None
    try:
        count = ctypes.c_uint()
        if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return None
        devices = tuple(filter(None, (_nvml_device(nvml, index) for index in range(count.value))))
        version = ctypes.create_string_buffer(96)
        nvml.nvmlSystemGetDriverVersion(version, len(version))
        return Gpus(devices, version.value.decode(errors="replace"), "NVML")
    finally:
        nvml.nvmlShutdown()


def _nvml_device(nvml: Any, index: int) -> Gpu | None:
    device = ctypes.c_void_p()
    if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
        return None
    name = ctypes.create_string_buffer(96)
    nvml.nvmlDeviceGetName(device, name, len(name))
    memory = _Memory()
    known = nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0
    return Gpu(name.value.decode(errors="replace"), memory.total if known else None)


def _from_proc(proc: Path) -> Gpus | None:
    """What the kernel module tells; without NVML there is no use in GPUs, but there is in knowing of them."""
    try:
        version = (proc / "version").read_text().split("Kernel Module", 1)[-1].split()
        files = sorted((proc / "gpus").glob("*/information"))
        names = [_field(path.read_text(), "Model") for path in files]
    except OSError:
        return None
    number = next((word for word in version if word[:1].isdigit()), "")
    return Gpus(tuple(map(Gpu, names)), number, str(proc))


def _field(text: str, name: str) -> str:
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"
