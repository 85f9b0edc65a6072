# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Which library the bindings open, and what they say when it does not suit. Each case runs in a process of its own."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import cudecomp_bindings
from tests.unit import fakelib

BINDINGS = Path(cudecomp_bindings.__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fakelib.build(tmp_path_factory.mktemp("fakelib"))


def run(program: str, *, paths: tuple[Path, ...] = (), libraries: Path | None = None, **environment: object) -> Any:
    """Runs a program in a fresh interpreter and gives its ``result``.

    ``attempt(f)`` in it gives the result of ``f()``, or the error as text; ``loaded()`` the loaded library.

    Args:
        program: What to run; ``cd`` is the bindings, ``loader`` their loader.
        paths: Folders that modules are found in, before all others.
        libraries: A folder for the loader of shared libraries to search.
        environment: CUDECOMP_LIBRARY and the like; unset where not given.
    """
    preamble = """
        import json, os, sys, threading
        import cudecomp_bindings.cudecomp as cd
        from cudecomp_bindings._internal import cudecomp as loader
        from cudecomp_bindings._internal.library import FunctionNotFoundError, LibraryLoadError
        def attempt(function):
            try:
                return function()
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        def loaded():
            return loader.load_library()._asdict()
    """
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CUDECOMP", "LD_", "PYTHONPATH"))}
    clean |= {key: str(value) for key, value in environment.items()}
    clean["PYTHONPATH"] = os.pathsep.join(map(str, (*paths, BINDINGS)))
    if libraries:
        clean["LD_LIBRARY_PATH"] = str(libraries)
    source = textwrap.dedent(preamble) + textwrap.dedent(program) + "\nprint(json.dumps(result))"
    command = [sys.executable, "-P", "-c", source]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout)


def empty_library(path: Path) -> Path:
    """A shared library that exports nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text("static int nothing __attribute__((unused));\n")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", str(source), "-o", str(path)], check=True)
    return path


def package_with_engine(folder: Path, **mpi: object) -> Path:
    """A package ``cudecomp`` whose built-in engine is a fakelib; ``mpi`` goes into its build_info.json."""
    engine = folder / "cudecomp" / "_engine"
    engine.mkdir(parents=True)
    (folder / "cudecomp" / "__init__.py").write_text("raise SystemExit('the bindings must not import the package')\n")
    fakelib.build(engine, name="libcudecomp_builtin.so")
    (engine / "build_info.json").write_text(json.dumps({"mpi": mpi}))
    return engine / "libcudecomp_builtin.so"


# The search order


def test_nothing_is_loaded_at_import() -> None:
    result = run("""
        before = loader.get_loaded_library()
        cd.GridDescConfig(), cd.GridDescAutotuneOptions(), cd.PencilInfo(), cd.cuDecompError(1)
        heavy = [name for name in ("numpy", "mpi4py", "cupy", "cudecomp") if name in sys.modules]
        result = [before, loader.get_loaded_library(), heavy]
    """)  # fmt: skip
    assert result == [None, None, []]


def test_variable_with_a_path(library: Path) -> None:
    result = run(
        "result = [loaded(), cd.get_data_type_size(-1), loader.get_loaded_library() is loader.load_library()]",
        CUDECOMP_LIBRARY=library,
    )
    expected = {"path": str(library), "found_via": f"CUDECOMP_LIBRARY={library}", "kind": "nvidia", "line": "0.7"}
    assert result == [expected, 8, True]


def test_variable_with_a_name_for_the_loader(library: Path) -> None:
    result = run("result = loaded()['path']", CUDECOMP_LIBRARY=library.name, libraries=library.parent)
    assert result == str(library)


def test_variable_wins_over_all(tmp_path: Path, library: Path) -> None:
    package_with_engine(tmp_path)
    empty_library(tmp_path / "libcuda.so.1")
    home = tmp_path / "home"
    (home / "lib").mkdir(parents=True)
    fakelib.build(home / "lib", name="libcudecomp.so")
    result = run("result = loaded()['path']", paths=(tmp_path,), libraries=tmp_path, CUDECOMP_LIBRARY=library,
                 CUDECOMP_HOME=home)  # fmt: skip
    assert result == str(library)


def test_variable_builtin(tmp_path: Path) -> None:
    engine = package_with_engine(tmp_path)
    empty_library(tmp_path / "libcuda.so.1")
    fakelib.build(tmp_path, name="libcudecomp.so")
    result = run("result = [loaded(), 'cudecomp' in sys.modules]", paths=(tmp_path,), libraries=tmp_path,
                 CUDECOMP_LIBRARY="builtin")  # fmt: skip
    assert result[0]["path"] == str(engine)
    assert result[0]["found_via"] == "CUDECOMP_LIBRARY=builtin"
    assert result[1] is False


@pytest.mark.parametrize("folder", ["lib", "lib64"])
def test_home_where_there_is_a_driver(folder: str, tmp_path: Path) -> None:
    package_with_engine(tmp_path)
    home = tmp_path / "home"
    (home / folder).mkdir(parents=True)
    library = fakelib.build(home / folder, name="libcudecomp.so")
    empty_library(tmp_path / "libcuda.so.1")
    result = run("result = loaded()", paths=(tmp_path,), libraries=tmp_path, CUDECOMP_HOME=home)
    assert (result["path"], result["found_via"]) == (str(library), f"CUDECOMP_HOME={home}")


def test_loaders_path_where_there_is_a_driver(tmp_path: Path) -> None:
    package_with_engine(tmp_path)
    library = fakelib.build(tmp_path, name="libcudecomp.so")
    empty_library(tmp_path / "libcuda.so.1")
    result = run("result = loaded()", paths=(tmp_path,), libraries=tmp_path, CUDECOMP_HOME=tmp_path / "nowhere")
    assert (result["path"], result["found_via"]) == (str(library), "the loader's search path")


def test_builtin_engine_without_a_driver(tmp_path: Path) -> None:
    engine = package_with_engine(tmp_path)
    (tmp_path / "home" / "lib").mkdir(parents=True)
    fakelib.build(tmp_path / "home" / "lib", name="libcudecomp.so")
    result = run("result = loaded()", paths=(tmp_path,), CUDECOMP_HOME=tmp_path / "home")
    assert (result["path"], result["found_via"]) == (str(engine), "being part of this package")


def test_builtin_engine_with_a_driver_but_no_library(tmp_path: Path) -> None:
    engine = package_with_engine(tmp_path)
    empty_library(tmp_path / "libcuda.so.1")
    assert run("result = loaded()['path']", paths=(tmp_path,), libraries=tmp_path) == str(engine)


def test_builtin_engine_is_recognized_by_what_it_exports(tmp_path: Path) -> None:
    source = tmp_path / "builtin.c"
    source.write_text('const char* cudecompBuiltinGetInfo(void) { return "{}"; }\n'
                      "int cudecompInit; int cudecompGridDescCreateVersioned;\n")  # fmt: skip
    library = tmp_path / "libany.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    assert run("result = loaded()['kind']", CUDECOMP_LIBRARY=library) == "builtin"


# What cannot be used


def test_nothing_found_tells_all_that_was_tried(tmp_path: Path) -> None:
    package = tmp_path / "cudecomp"
    package.mkdir()
    (package / "__init__.py").touch()
    empty_library(tmp_path / "libcuda.so.1")
    result = run("result = attempt(lambda: cd.get_data_type_size(-1))", paths=(tmp_path,), libraries=tmp_path,
                 CUDECOMP_HOME=tmp_path / "home")  # fmt: skip
    assert result == (
        "LibraryLoadError: no cuDecomp library was found. Tried:\n"
        f"  - CUDECOMP_HOME: {tmp_path}/home/lib/libcudecomp.so: no such file\n"
        f"  - CUDECOMP_HOME: {tmp_path}/home/lib64/libcudecomp.so: no such file\n"
        "  - the loader's search path: libcudecomp.so: cannot open shared object file: No such file or directory\n"
        f"  - the built-in engine: no such file ({package}/_engine/libcudecomp_builtin.so)\n"
        "Set CUDECOMP_LIBRARY to the path of one, or reinstall the package with its built-in engine: "
        "pip install --force-reinstall --no-deps cudecomp"
    )


def test_without_a_driver_the_report_says_so(tmp_path: Path) -> None:
    (tmp_path / "cudecomp").mkdir()
    (tmp_path / "cudecomp" / "__init__.py").touch()
    result = run("result = attempt(lambda: cd.finalize(1))", paths=(tmp_path,))
    assert "  - NVIDIA's libcudecomp.so: not looked for, there is no CUDA driver (libcuda.so.1: " in result


def test_builtin_asked_for_and_missing(tmp_path: Path) -> None:
    (tmp_path / "cudecomp").mkdir()
    (tmp_path / "cudecomp" / "__init__.py").touch()
    result = run("result = attempt(loader.load_library)", paths=(tmp_path,), CUDECOMP_LIBRARY="builtin")
    assert result.startswith(
        "LibraryLoadError: no cuDecomp library was found. Tried:\n  - the built-in engine: no such"
    )


def test_path_that_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "libno.so"
    result = run("result = attempt(lambda: cd.init_f(0))", CUDECOMP_LIBRARY=path)
    assert result == (
        f"LibraryLoadError: CUDECOMP_LIBRARY={path}: there is no such file. Set CUDECOMP_LIBRARY to an existing "
        "library, to builtin, or unset it."
    )


def test_file_that_is_no_library(tmp_path: Path) -> None:
    path = tmp_path / "libtext.so"
    path.write_text("text\n" * 100)
    result = run("result = attempt(loader.load_library)", CUDECOMP_LIBRARY=path)
    assert result == (
        f"LibraryLoadError: CUDECOMP_LIBRARY={path}: the library cannot be opened: {path}: invalid ELF header."
    )


def test_library_of_something_else(tmp_path: Path) -> None:
    path = empty_library(tmp_path / "libother.so")
    result = run("result = attempt(loader.load_library)", CUDECOMP_LIBRARY=path)
    assert result == (
        f"LibraryLoadError: {path} (found by CUDECOMP_LIBRARY={path}) is no cuDecomp library: it does not export "
        "cudecompInit or cudecompGridDescCreateVersioned or cudecompGridDescCreate. Set CUDECOMP_LIBRARY to a "
        "cuDecomp 0.7 library, or to builtin."
    )


def test_another_layout_line_is_refused(tmp_path: Path) -> None:
    path = fakelib.build(tmp_path, "FAKE_OLD_LINE")
    result = run("result = [attempt(loader.load_library), loader.get_loaded_library()]", CUDECOMP_LIBRARY=path)
    refusal = (
        f"LibraryLoadError: {path} (found by CUDECOMP_LIBRARY={path}) is cuDecomp 0.5 or 0.6, these bindings are for "
        "cuDecomp 0.7: the structs of the two differ in memory. Set CUDECOMP_LIBRARY to a cuDecomp 0.7 library, or to "
        "builtin."
    )
    assert result == [refusal, None]


@pytest.mark.parametrize("where", ["home", "path"])
def test_installed_library_that_does_not_suit_is_no_reason_to_go_on(where: str, tmp_path: Path) -> None:
    """Silently computing with the built-in engine instead would hide a broken installation."""
    package_with_engine(tmp_path)
    empty_library(tmp_path / "libcuda.so.1")
    folder = tmp_path / "home" / "lib" if where == "home" else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "libcudecomp.so").write_text("text\n" * 100)
    result = run("result = attempt(loader.load_library)", paths=(tmp_path,), libraries=tmp_path,
                 CUDECOMP_HOME=tmp_path / "home")  # fmt: skip
    opening = {
        "home": f"LibraryLoadError: CUDECOMP_HOME={tmp_path}/home: {folder}/libcudecomp.so cannot be opened: ",
        "path": "LibraryLoadError: libcudecomp.so is on the loader's search path but cannot be opened: ",
    }
    assert result.startswith(opening[where])
    assert result.endswith("invalid ELF header. CUDECOMP_LIBRARY=builtin uses the built-in engine instead.")


def test_failed_load_can_be_tried_again(tmp_path: Path, library: Path) -> None:
    result = run(f"""
        result = [attempt(lambda: cd.finalize(1))[:16], attempt(lambda: cd.get_data_type_size(-1))[:16]]
        os.environ["CUDECOMP_LIBRARY"] = {str(library)!r}
        result += [cd.get_data_type_size(-1), cd.finalize(1)]
        os.environ["CUDECOMP_LIBRARY"] = "/nowhere"
        result.append(loaded()["path"])
    """, CUDECOMP_LIBRARY=tmp_path / "no.so")  # fmt: skip
    assert result == ["LibraryLoadError", "LibraryLoadError", 8, None, str(library)]


# The MPI of the engine


MPI = """
    import types
    sys.modules["mpi4py"] = types.ModuleType("mpi4py")
    sys.modules["mpi4py.MPI"] = types.ModuleType("mpi4py.MPI")
    sys.modules["mpi4py.MPI"].get_vendor = lambda: ({vendor!r}, {version!r})
    result = attempt(lambda: loader.load_library().path)
"""


@pytest.mark.parametrize(
    ("vendor", "version", "named"),
    [("MPICH", (4, 2, 0), "MPICH 4.2.0"), ("Open MPI", (4, 1, 6), "Open MPI 4.1.6")],
)
@pytest.mark.parametrize("how", ["package", "CUDECOMP_LIBRARY"])
def test_engine_of_another_mpi(vendor: str, version: tuple[int, ...], named: str, how: str, tmp_path: Path) -> None:
    engine = package_with_engine(tmp_path, vendor="Open MPI", version=[5, 0, 3], library="libmpi.so.40")
    environment = {} if how == "package" else {"CUDECOMP_LIBRARY": engine}
    what = "the built-in engine" if how == "package" else f"CUDECOMP_LIBRARY={engine}"
    # Opening the engine would be too late; so it must not even be a library.
    engine.write_text("text")
    result = run(MPI.format(vendor=vendor, version=version), paths=(tmp_path,), **environment)
    assert result == (
        f"LibraryLoadError: {what} {engine} was built with Open MPI 5.0.3, but mpi4py runs with {named}. Rebuild it "
        "with that MPI's compiler wrapper: MPICC=/path/to/mpicc pip install --force-reinstall --no-deps --no-binary "
        "cudecomp cudecomp"
    )


def test_engine_of_the_same_mpi(tmp_path: Path) -> None:
    engine = package_with_engine(tmp_path, vendor="Open MPI", version=[5, 0, 3], library="libmpi.so.40")
    assert run(MPI.format(vendor="Open MPI", version=(5, 0, 9)), paths=(tmp_path,)) == str(engine)


def test_build_information_that_tells_nothing(tmp_path: Path) -> None:
    engine = package_with_engine(tmp_path)
    result = run(MPI.format(vendor="MPICH", version=(4, 0, 0)), paths=(tmp_path,))
    assert result.startswith(
        f"LibraryLoadError: {engine.parent}/build_info.json does not tell which MPI the engine was built with "
        "(KeyError('vendor')). Reinstall the package: pip install"
    )


def test_library_that_needs_an_mpi_nobody_loaded(tmp_path: Path) -> None:
    needed = empty_library(tmp_path / "libmpi_of_nobody.so")
    path = tmp_path / "libneedy.so"
    command = ["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", str(tmp_path / "libmpi_of_nobody.c"), "-o", str(path)]
    subprocess.run([*command, f"-L{tmp_path}", "-lmpi_of_nobody"], check=True)
    needed.unlink()
    result = run("result = attempt(loader.load_library)", CUDECOMP_LIBRARY=path)
    assert "libmpi_of_nobody.so: cannot open shared object file" in result
    assert result.endswith(" It needs an MPI library: import mpi4py.MPI first.")


# The function table


def test_missing_function_names_symbol_library_and_release(tmp_path: Path) -> None:
    path = fakelib.build(tmp_path, "FAKE_WITHOUT_SHIFTED_RANK")
    result = run("""
        result = [attempt(lambda: cd.get_shifted_rank(1, 2, 0, 1, 1, True)), cd.get_data_type_size(-1),
                  loader._inspect_function_pointer("cudecompGetShiftedRank"),
                  issubclass(FunctionNotFoundError, RuntimeError)]
    """, CUDECOMP_LIBRARY=path)  # fmt: skip
    message = (
        f"FunctionNotFoundError: {path} has no function cudecompGetShiftedRank: it is in cuDecomp 0.1 and newer. "
        f"Point CUDECOMP_LIBRARY to such a library (this one was found by CUDECOMP_LIBRARY={path})."
    )
    assert result == [message, 8, 0, True]


def test_function_pointers(library: Path) -> None:
    result = run("""
        import ctypes
        fake = ctypes.CDLL(os.environ["CUDECOMP_LIBRARY"])
        pointers = loader._inspect_function_pointers()
        right = [ctypes.cast(getattr(fake, name), ctypes.c_void_p).value == value for name, value in pointers.items()]
        result = [len(pointers), all(right),
                  loader._inspect_function_pointer("cudecompInit") == pointers["cudecompInit"],
                  attempt(lambda: loader._inspect_function_pointer("cudecompNo")),
                  loader._get_optional_symbol("cudecompBuiltinGetInfo"),
                  loader._get_optional_symbol("fake_last_call") > 0]
    """, CUDECOMP_LIBRARY=library)  # fmt: skip
    assert result == [
        24, True, True, "ValueError: 'cudecompNo' is no function of the cuDecomp 0.7.0 header", 0, True,
    ]  # fmt: skip


@pytest.mark.parametrize("first", ["cd.get_data_type_size(-1)", "cd.grid_desc_destroy(1, 2)"])
def test_many_threads_load_once(first: str, library: Path) -> None:
    """The first call of all threads at once, one kind with the GIL and one without; a slow search widens the race."""
    result = run(f"""
        import time
        from cudecomp_bindings._internal import search
        find, searches = search.find_library, []
        def slow(*arguments):
            searches.append(threading.get_ident())
            time.sleep(0.3)
            return find(*arguments)
        search.find_library = slow
        barrier, answers = threading.Barrier(16), []
        def work():
            barrier.wait()
            answers.append({first})
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        result = [len(answers), len(set(answers)), len(searches)]
    """, CUDECOMP_LIBRARY=library)  # fmt: skip
    assert result == [16, 1, 1]


def test_code_that_runs_during_a_load_may_call_the_library(library: Path) -> None:
    """A garbage collection may run a destructor that calls into the library while it is being loaded."""
    result = run("""
        from cudecomp_bindings._internal import search
        find, inner = search.find_library, []
        def reentrant(*arguments):
            search.find_library = find
            inner.append(cd.get_data_type_size(-1))
            inner.append(loader.get_loaded_library())
            return find(*arguments)
        search.find_library = reentrant
        result = [cd.get_data_type_size(-1), inner[0], loader.get_loaded_library() is inner[1]]
    """, CUDECOMP_LIBRARY=library)  # fmt: skip
    assert result == [8, 8, True]


def test_errors_survive_pickling() -> None:
    result = run("""
        import pickle
        result = [str(pickle.loads(pickle.dumps(kind("text")))) for kind in (LibraryLoadError, FunctionNotFoundError)]
    """)  # fmt: skip
    assert result == ["text", "text"]
