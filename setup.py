# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: how the Cython modules and the built-in engine are compiled."""

import sys
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "build_backend"))

from engine_build import BUILD_INFO, LIBRARY, build_engine  # noqa: E402
from mpi_toolchain import BuildError  # noqa: E402

ENGINE_FOLDER = Path("cudecomp", "_engine")


class BuildAll(build_ext):
    """Compiles the engine, then the Cython modules."""

    def run(self):
        outputs = [Path(self.build_lib, ENGINE_FOLDER)] + [ROOT / ENGINE_FOLDER] * bool(self.inplace)
        scratch = Path(self.build_temp).resolve()
        try:
            build_engine(ROOT, outputs, scratch, self.distribution.get_version(), self.parallel or None)
        except BuildError as error:
            raise CompileError(f"\n\n{error}\n") from None
        super().run()

    def build_extensions(self):
        # Here and not earlier: asking for metadata or an sdist compiles nothing.
        compiled = cythonize(
            self.extensions,
            # C files of each Cython version live apart, and out of the source tree.
            build_dir=f"build/cython-{Cython.__version__}",
            compiler_directives={"language_level": 3},
            force=self.force,
            show_all_warnings=False,
        )
        for extension, result in zip(self.extensions, compiled, strict=True):
            extension.sources, extension.language, extension.depends = result.sources, result.language, result.depends
        super().build_extensions()

    def get_outputs(self):
        return [*super().get_outputs(), *self._engine_files()]

    def get_output_mapping(self):
        mapping = dict(super().get_output_mapping())
        if self.inplace:
            mapping.update({built: str(ENGINE_FOLDER / Path(built).name) for built in self._engine_files()})
        return mapping

    def _engine_files(self):
        return [str(Path(self.build_lib, ENGINE_FOLDER, name)) for name in (LIBRARY, BUILD_INFO)]


def cython_modules():
    """One extension per .pyx file, named by its path; `# distutils: language = c++` in a file asks for C++."""
    sources = sorted([*Path("cudecomp_bindings").rglob("*.pyx"), *Path("cudecomp").rglob("*.pyx")])
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            # dlopen lives in libdl before glibc 2.34.
            extra_link_args=["-Wl,--as-needed", "-ldl"],
        )
        for source in sources
    ]


setup(ext_modules=cython_modules(), cmdclass={"build_ext": BuildAll})
