# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What `python -m cudecomp info` finds on other machines than this one: places, GPUs, packages."""

import ctypes

import pytest

from cudecomp._cli import gpus, info
from cudecomp_bindings._internal import search


class FakeNvml:
    """NVML with two GPUs, one of which does not tell its memory."""

    NAMES = (b"NVIDIA H200", b"NVIDIA T4")

    def __init__(self, init=0, count=0):
        self.init, self.count, self.open = init, count, False

    def nvmlInit_v2(self):  # noqa: N802
        self.open = self.init == 0
        return self.init

    def nvmlShutdown(self):  # noqa: N802
        self.open = False
        return 0

    def nvmlDeviceGetCount_v2(self, count):  # noqa: N802
        count._obj.value = len(self.NAMES)
        return self.count

    def nvmlSystemGetDriverVersion(self, text, size):  # noqa: N802
        text.value = b"580.65.06"
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, device):  # noqa: N802
        device._obj.value = index + 1
        return 0

    def nvmlDeviceGetName(self, device, text, size):  # noqa: N802
        text.value = self.NAMES[device.value - 1]
        return 0

    def nvmlDeviceGetMemoryInfo(self, device, memory):  # noqa: N802
        memory._obj.total = 141 * 2**30
        return 0 if device.value == 1 else 3


def no_library(path):
    raise OSError(f"{path}: cannot open shared object file")


@pytest.fixture
def proc(tmp_path):
    folder = tmp_path / "gpus" / "0000:3b:00.0"
    folder.mkdir(parents=True)
    (folder / "information").write_text("Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 134\n")
    version = (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: 12\n"
    )
    (tmp_path / "version").write_text(version)
    return tmp_path


def test_gpus_from_nvml(proc):
    nvml = FakeNvml()
    found = gpus.find(lambda path: nvml, proc)
    devices = (gpus.Gpu("NVIDIA H200", 141 * 2**30), gpus.Gpu("NVIDIA T4", None))
    assert found == gpus.Gpus(devices, "580.65.06", "NVML")
    assert not nvml.open


@pytest.mark.parametrize("nvml", [None, FakeNvml(init=9), FakeNvml(count=1)])
def test_gpus_from_proc_where_nvml_does_not_tell(proc, nvml):
    found = gpus.find(no_library if nvml is None else lambda path: nvml, proc)
    assert found == gpus.Gpus((gpus.Gpu("NVIDIA A100-SXM4-40GB"),), "535.104.05", str(proc))
    assert nvml is None or not nvml.open


def test_no_gpus(tmp_path):
    assert gpus.find(no_library, tmp_path / "nowhere") == gpus.Gpus((), "", "no NVIDIA driver")


def test_gpus_of_this_machine_are_asked_for():
    assert isinstance(gpus.find(), gpus.Gpus)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """No variable is set, there is a driver, and the loader knows nothing."""
    for name in ("CUDECOMP_LIBRARY", "CUDECOMP_HOME", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(info, "has_driver", lambda: True)
    return tmp_path


def test_places(elsewhere, monkeypatch):
    (elsewhere / "lib64").mkdir()
    (elsewhere / "lib64" / search.NVIDIA_LIBRARY).touch()
    monkeypatch.setenv("CUDECOMP_HOME", str(elsewhere))
    places = dict(info.searched())
    assert places["CUDA driver"] == "there"
    assert places[f"CUDECOMP_HOME: {elsewhere}/lib/libcudecomp.so"] == "no such file"
    assert places[f"CUDECOMP_HOME: {elsewhere}/lib64/libcudecomp.so"] == "there"
    assert places["the built-in engine"].endswith(search.BUILTIN_LIBRARY)
    assert list(places)[-2:] == ["the loader's path", "the built-in engine"]


def test_loader_path(elsewhere, monkeypatch):
    cache = elsewhere / "cache"
    assert info.on_loader_path(cache) is None
    cache.write_bytes(b"glibc-ld.so.cache1.1\0libcudecomp.so\0/opt/nvidia/lib/libcudecomp.so\0libm.so\0/lib/libm.so\0")
    assert info.on_loader_path(cache) == "/opt/nvidia/lib/libcudecomp.so"
    cache.write_bytes(b"libcudecomp.so.2\0/opt/nvidia/lib/libcudecomp.so.2\0")
    assert info.on_loader_path(cache) is None
    (elsewhere / search.NVIDIA_LIBRARY).touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere::{elsewhere}")
    assert info.on_loader_path(cache) == str(elsewhere / search.NVIDIA_LIBRARY)


def test_driver_is_that_of_the_search():
    try:
        ctypes.CDLL(search.CUDA_DRIVER)
        there = True
    except OSError:
        there = False
    assert info.has_driver() is there


def test_packages():
    assert info.installed(("no-such-distribution", "numpy")) is not None
    assert info.installed(("no-such-distribution",)) is None


def test_gpus_as_text():
    found = {
        **info.collect(),
        "gpus": {"devices": [{"name": "NVIDIA H200", "memory": 141 * 2**30}], "driver": "580", "source": "NVML"},
    }
    text = info.as_table(found).as_text()
    assert "GPUs               NVIDIA H200, 141 GiB\n                   driver 580, according to NVML\n" in text
