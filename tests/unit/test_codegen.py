# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The generator: what it reads, what it writes, what it refuses. Headers of every shape are in golden/.

``CODEGEN_UPDATE_GOLDEN=1`` writes the golden files anew. ``CUDECOMP_TEST_NVIDIA_HEADERS=FOLDER`` also generates and
compiles bindings of every cudecomp.h below the folder.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("clang.cindex", reason="needs libclang, from the extra `codegen`")
pytest.importorskip("jinja2", reason="needs jinja2, from the extra `codegen`")

from codegen import CodegenError, comments
from codegen.__main__ import DEFAULT_OUT, main
from codegen.annotations import Annotations, snake_case
from codegen.parser import parse_header
from codegen.report import compare

GOLDEN = Path(__file__).with_name("golden")
ROOT = Path(__file__).resolve().parents[2]
TABLES = {"line_05": "lines", "line_06": "lines", "line_07": "lines", "shapes": "shapes"}
GOLDEN_FILES = ("model.json", "cudecomp.pyi", "cycudecomp.pyx")


def generate(header: Path, out: Path, table: str = "lines") -> Path:
    """Runs the generator; the folder of the package it wrote."""
    out = out / "cudecomp_bindings"
    arguments = ["--header", str(header), "--out", str(out), "--annotations", str(GOLDEN / f"{table}.toml")]
    assert main(arguments) == 0
    return out


def edit(folder: Path, header: str, *changes: tuple[str, str]) -> Path:
    """A copy of a golden header with some text replaced."""
    text = (GOLDEN / f"{header}.h").read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {header}.h"
        text = text.replace(old, new)
    for companion in GOLDEN.glob(f"{header}_*.h"):
        (folder / companion.name).write_text(companion.read_text())
    path = folder / "cudecomp.h"
    path.write_text(text)
    return path


def header_of(folder: Path, body: str) -> Path:
    path = folder / "small.h"
    path.write_text(f"#include <stdint.h>\n#include <stdbool.h>\n{body}\n")
    return path


def compile_package(package: Path) -> None:
    """Translates and compiles every Cython module of a generated package, in place."""
    program = """
        import sys
        from pathlib import Path
        from Cython.Build import cythonize
        from setuptools import Extension, setup
        sources = sorted(Path("cudecomp_bindings").rglob("*.pyx"))
        modules = [Extension(".".join(path.with_suffix("").parts), [str(path)]) for path in sources]
        setup(name="generated", packages=[], ext_modules=cythonize(modules, language_level=3, quiet=True))
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program), "-q", "build_ext", "--inplace"]
    environment = {**os.environ, "CFLAGS": "-O0 -g0 -Werror=incompatible-pointer-types -Werror=int-conversion"}
    done = subprocess.run(command, cwd=package.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout + done.stderr


def run(package: Path, library: Path | None, program: str) -> object:
    """Runs a program over a compiled package in a process of its own; it sets ``result``."""
    program = "import json\nimport cudecomp_bindings.cudecomp as cd\n" + textwrap.dedent(program)
    program += "\nprint(json.dumps(result))"
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    if library:
        environment["CUDECOMP_LIBRARY"] = str(library)
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compile_library(source: Path, out: Path, *flags: str) -> Path:
    subprocess.run(
        [
            *os.environ.get("CC", "cc").split(), "-shared", "-fPIC", *flags, f"-I{GOLDEN}",
            "-idirafter", str(ROOT / "codegen" / "stubs"), str(source), "-o", str(out),
        ],
        check=True,
    )  # fmt: skip
    return out


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Compiled bindings of shapes.h, and the library behind them."""
    folder = tmp_path_factory.mktemp("shapes")
    package = generate(GOLDEN / "shapes.h", folder, "shapes")
    compile_package(package)
    return package, compile_library(GOLDEN / "shapes.c", folder / "libshapes.so")


# What is checked in


def test_checked_in_bindings_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out[:4000]


def test_banner_names_source_command_and_content() -> None:
    for path in [*DEFAULT_OUT.glob("*.py*"), *(DEFAULT_OUT / "_internal").glob("*.py*")]:
        if path.suffix in (".pyc", ".so") or path.name == "py.typed":
            continue
        banner, _, body = path.read_text().partition("\n\n")
        assert "from engine/include/cudecomp.h (cuDecomp 0.7.0). Do not edit" in banner, path
        assert "#     python -m codegen\n" in banner
        assert banner.endswith(f"sha256 of what follows: {hashlib.sha256(body.encode()).hexdigest()}"), path


def test_output_is_the_same_from_run_to_run(tmp_path: Path) -> None:
    for seed in ("0", "1"):
        command = [sys.executable, "-m", "codegen", "--out", str(tmp_path / seed)]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    first, second = ({p.relative_to(tmp_path / s): p.read_bytes() for p in (tmp_path / s).rglob("*") if p.is_file()}
                     for s in ("0", "1"))  # fmt: skip
    assert first == second
    assert all((DEFAULT_OUT / path).read_bytes() == text for path, text in first.items())


# Golden files


@pytest.mark.parametrize("name", TABLES)
def test_golden(name: str, tmp_path: Path) -> None:
    package = generate(GOLDEN / f"{name}.h", tmp_path, TABLES[name])
    for file in GOLDEN_FILES:
        golden = GOLDEN / name / file
        text = (package / file).read_text()
        if os.environ.get("CODEGEN_UPDATE_GOLDEN"):
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(text)
        assert text == golden.read_text(), f"{golden} differs from what is generated; see the module's docstring"


def test_model_of_shapes() -> None:
    """The facts of shapes.h, told independently of the golden files."""
    header = parse_header(GOLDEN / "shapes.h")
    model = header.summary()
    assert model["version"] == "unknown version"
    assert model["constants"] == {
        "SHAPES_NUMBER": 7, "SHAPES_NEGATIVE": -3, "SHAPES_WIDE": 1 << 32, "SHAPES_HUGE": (1 << 64) - 1,
        "SHAPES_SUM": 8, "SHAPES_NOTHING": 0,
    }  # fmt: skip
    assert set(header.skipped_macros) == {"SHAPES_H", "SHAPES_TEXT", "SHAPES_EMPTY"}
    assert model["enums"] == {
        "(anonymous)": {"SHAPES_LOOSE": 11, "SHAPES_LOOSER": -12},
        "shapesColor": {"SHAPES_COLOR_RED": 1, "SHAPES_COLOR_NONE": 0, "SHAPES_COLOR_MINUS": -7},
        "shapesTagged_t": {"SHAPES_TAGGED_A": 0, "SHAPES_TAGGED_B": 5},
    }
    assert model["handles"] == ["shapesThing_t"]
    fields = model["structs"]["shapesRecord_t"]["fields"]
    assert fields["matrix"] == {"type": "float[2][5]", "offset": 48}
    assert fields["thing"] == {"type": "shapesThing_t", "offset": 112}
    assert model["structs"]["shapesRecord_t"]["size"] == 136
    assert model["functions"]["shapesOpenRead"]["calls"] == "shapesRead(record, SHAPES_NOTHING, (SHAPES_SUM | -2))"
    assert model["functions"]["shapesPlace"]["parameters"]["position"] == "const double[2]"


def test_offsets_are_those_of_the_compiler(tmp_path: Path) -> None:
    model = parse_header(ROOT / "engine" / "include" / "cudecomp.h").summary()
    checks = [
        f'_Static_assert(offsetof({struct}, {field}) == {row["offset"]}, "");'
        for struct, facts in model["structs"].items()
        for field, row in facts["fields"].items()
    ] + [f'_Static_assert(sizeof({s}) == {facts["size"]}, "");' for s, facts in model["structs"].items()]
    source = tmp_path / "offsets.c"
    source.write_text("#include <stddef.h>\n#include <cudecomp.h>\n" + "\n".join(checks))
    compile_library(source, tmp_path / "offsets.so", f"-I{ROOT / 'engine' / 'include'}")
    assert len(checks) == 11 + 24 + 10 + 3


def test_inline_wrappers_are_read_from_the_tree() -> None:
    model = parse_header(GOLDEN / "line_07.h").summary()
    assert model["functions"]["cudecompCreate"]["calls"] == (
        "cudecompCreateVersioned(handle, config, (int64_t)sizeof(cudecompConfig_t), CUDECOMP_CONFIG_VERSION, options, "
        "options ? (int64_t)sizeof(cudecompOptions_t) : (int64_t)0)"
    )
    text = (GOLDEN / "line_07" / "cycudecomp.pyx").read_text()
    assert "(<int64_t>(sizeof(cudecompOptions_t)) if options != NULL else <int64_t>(0))" in text


# Generated modules of every shape, running


def test_shapes_scalars_and_results(shapes: tuple[Path, Path]) -> None:
    result = run(*shapes, """
        cd.reset(4)
        cd.reset(3)
        result = [cd.count(5), cd.big(), cd.is_open(0), cd.is_open(1), cd.time(1.5, 2.0), cd.open("A"), cd.open(b"B"),
                  cd.name(1, cd.Color.MINUS), cd.name(0, 0), repr(cd.color_of(-7)), repr(cd.color_of(99)),
                  cd.measure(1), cd.corners(0), cd.buffer(77, 0), cd.buffer(0, 78)]
    """)  # fmt: skip
    assert result == [
        -5, 2**64 - 1, False, True, 3.0, 65, 66,
        "minus", "", "<Color.MINUS: -7>", "<Color.UNKNOWN_99: 99>",
        [7, 1 << 40, -7, 2.5, True], [-1, 0, 1, 2], 77, 78,
    ]  # fmt: skip


def test_shapes_arrays_structs_and_wrappers(shapes: tuple[Path, Path]) -> None:
    result = run(*shapes, """
        result = []
        for arguments in ((0, (1.5, 2), None), (0, None, (True, False, True)), (0, None, None)):
            cd.place(*arguments)
            result.append(cd.placed())
        record = cd.Record(tiny=-5, tagged=(0, 5))
        other = cd.fill(record)
        result += [other.value, record.matrix[1, 4], record.thing]
        cd.open_read(record)
        result.append(cd.status())
        cd.open_read()
        result.append(cd.status())
    """)  # fmt: skip
    # 3.5 | 110 | 0; the inline wrapper passes (7 + 1) | -2 = -2 and, without a record, 1000 is added.
    assert result == [3.5, 110.0, 0.0, -5, 1.5, 16, 5 - 2, 1000 - 2]


def test_shapes_fields(shapes: tuple[Path, Path]) -> None:
    result = run(*shapes, """
        r = cd.Record(tiny=-128, small=65535, plain=2**32 - 1, wide=-2**63, single=0.5, count=2**64 - 1, flag=True,
                      color=-7, tagged=[5, 6], matrix=[[1, 2, 3, 4, 5], range(5)], flags=((1, 0), (0, True)),
                      large=(2**64 - 1, 0), thing=2**40, memory=3, lambda_=4, data_=5)
        import pickle
        same = pickle.loads(pickle.dumps(r)) == r == r.copy()
        result = [r.tiny, r.small, r.plain, r.wide, r.single, r.count, r.flag, repr(r.color), list(r.tagged),
                  r.matrix.tolist(), r.flags.tolist(), list(r.large), r.thing, r.memory, r.lambda_, r.data_, same]
        for name, value in (("tiny", 128), ("small", -1), ("count", -1), ("large", (0, -1)), ("wide", 2**63)):
            try:
                setattr(r, name, value)
            except OverflowError as error:
                result.append(str(error))
        result.append([memoryview(view).format for view in (r.tagged, r.matrix, r.flags, r.large)])
    """)  # fmt: skip
    assert result == [
        -128, 65535, 2**32 - 1, -(2**63), 0.5, 2**64 - 1, True, "<Color.MINUS: -7>", [5, 6],
        [[1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0]], [[True, False], [False, True]], [2**64 - 1, 0], 2**40,
        3, 4, 5, True,
        "tiny: 128 does not fit int8_t", "small: -1 does not fit uint16_t", "count: -1 does not fit size_t",
        "large[1]: -1 does not fit uint64_t", f"wide: {2**63} does not fit int64_t",
        ["i", "f", "?", "Q"],
    ]  # fmt: skip


def test_shapes_constants_and_docs(shapes: tuple[Path, Path]) -> None:
    result = run(*shapes, """
        result = [cd.NUMBER, cd.NEGATIVE, cd.WIDE, cd.HUGE, cd.SUM, cd.NOTHING, cd.LOOSE, cd.LOOSER,
                  cd.Record.matrix.__doc__, cd.Record.__doc__, cd.name.__doc__]
    """)  # fmt: skip
    assert result[:9] == [7, -3, 1 << 32, 2**64 - 1, 8, 0, 11, -12, "Two rows."]
    assert 'A second paragraph with `code` and a "quote".' in result[9]
    assert "Returns:\n        The name, empty for none." in result[10]


@pytest.mark.parametrize("line", ["line_05", "line_07"])
def test_lines_compile_and_run(line: str, tmp_path: Path) -> None:
    """A 0.5 header passes MPI_Comm by value, as the int that mpi4py calls its handle; a 0.7 one tells struct sizes."""
    package = generate(GOLDEN / f"{line}.h", tmp_path)
    compile_package(package)
    versioned = """
        cudecompResult_t cudecompCreateVersioned(cudecompHandle_t h, cudecompConfig_t* c, int64_t size, int32_t version,
                                                 const cudecompOptions_t* o, int64_t options_size) {
          c->gdims[0] = (int32_t)size;
          c->gdims[1] = version;
          c->gdims[2] = (int32_t)options_size;
          return c->magic == CUDECOMP_CONFIG_MAGIC && c->struct_size == size ? 0 : 1;
        }
        cudecompResult_t cudecompInit_F(cudecompHandle_t* handle, MPI_Fint comm) { return 1; }
        cudecompResult_t cudecompTransposeXToY(cudecompHandle_t handle, void* input, cudecompDataType_t dtype,
                                               const int32_t h[], const bool p[], cudaStream_t stream) { return 0; }
    """
    plain = """
        cudecompResult_t cudecompCreate(cudecompHandle_t handle, cudecompConfig_t* config) {
          config->gdims[0] = 80;
          return 0;
        }
    """
    source = tmp_path / "library.c"
    source.write_text(
        f'#include "{line}.h"\n' + (versioned if line == "line_07" else plain) + """
        cudecompResult_t cudecompInit(cudecompHandle_t* handle, MPI_Comm comm) {
          *handle = (cudecompHandle_t)comm;
          return 0;
        }
    """)  # fmt: skip
    library = compile_library(source, tmp_path / "library.so", "-w")
    result = run(package, library, """
        config = cd.Config()
        cd.create(cd.init(0x7fff12345678), config)
        gdims = list(config.gdims)
        if hasattr(cd, "Options"):
            cd.create(1, config, cd.Options())
            gdims += list(config.gdims)
        from cudecomp_bindings._internal.cudecomp import get_loaded_library
        result = [hex(cd.init(0x7fff12345678)), gdims, get_loaded_library().line, hasattr(cd, "init_f")]
    """)  # fmt: skip
    expected = {
        "line_05": ["0x7fff12345678", [80, 0, 0], "0.5 or 0.6", False],
        "line_07": ["0x7fff12345678", [72, 1, 0, 72, 1, 32], "0.7", True],
    }
    assert result == expected[line]


def test_cimport_from_cpp(tmp_path: Path, shapes: tuple[Path, Path]) -> None:
    """The C level also serves modules that are compiled as C++; sizes and offsets are asserted there as well."""
    package, library = shapes
    user = tmp_path / "user.pyx"
    user.write_text(
        textwrap.dedent("""
        # cython: language_level=3
        # distutils: language = c++
        from cudecomp_bindings.cycudecomp cimport shapesCount, shapesRecord_t, shapesThing_t

        def count(unsigned long thing):
            cdef int n
            with nogil:
                n = shapesCount(<shapesThing_t>thing)
            return n, sizeof(shapesRecord_t)
    """)
    )
    program = """
        from Cython.Build import cythonize
        from setuptools import setup
        setup(name="user", py_modules=[], ext_modules=cythonize("user.pyx", quiet=True))
    """
    command = [sys.executable, "-c", textwrap.dedent(program), "-q", "build_ext", "--inplace"]
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    result = run(
        package, library, f"import sys; sys.path.append({str(tmp_path)!r}); import user; result = user.count(9)"
    )
    assert result == [-9, 136]


# Likely edits of a header


EDITS = {
    "a longer array": (
        [("int32_t gdims[3]; ", "int32_t gdims[5]; ")],
        ["struct cudecompConfig_t: field gdims: int32_t[3] → int32_t[5]", "fields moved: order 28 → 36",
         "cudecompConfig_t.gdims: checks and documentation of its type and length"],
        ("cudecomp.pyx", "&self.data.gdims, b\"i\", 4,\n            5,"),
    ),
    "one more field": (
        [("int32_t gdims[3]; ", "double scale; ///< scales\n  int32_t gdims[3]; ")],
        ["field double scale is new, at 16", "size 72 → 80", "cudecompConfig_t.scale: its default"],
        ("cudecomp.pyi", "def scale(self) -> float"),
    ),
    "one more parameter": (
        [("const bool periods[], cudaStream_t stream", "const bool periods[], int32_t status, cudaStream_t stream")],
        ["function cudecompTransposeXToY: parameter 6 int32_t status is new", "calls of cudecompTransposeXToY"],
        ("cudecomp.pyi", "    periods: Sequence[bool] | None,\n    status_: int,\n    stream: int,\n"),
    ),
    "one more parameter of a wrapper": (
        [("const cudecompOptions_t* options,\n                                         int64_t options_struct_size)",
          "const cudecompOptions_t* options,\n int64_t options_struct_size, int32_t flags)"),
         ("const cudecompOptions_t* options) {", "const cudecompOptions_t* options, int32_t flags) {"),
         ("(int64_t)0);", "(int64_t)0, flags);")],
        ["function cudecompCreate: parameter 4 int32_t flags is new"],
        ("cudecomp.pyi", "def create(handle: int, config: Config, options: Options | None, flags: int) -> None"),
    ),
    "one more enum member": (
        [("CUDECOMP_DOUBLE = -2 ", "CUDECOMP_HALF = -5, ///< half\n  CUDECOMP_DOUBLE = -2 ")],
        ["enum cudecompDataType_t: CUDECOMP_HALF = -5 is new", "new members appear in Python by themselves"],
        ("cudecomp.pyi", "    HALF = -5"),
    ),
    "a changed value": (
        [("CUDECOMP_DOUBLE = -2", "CUDECOMP_DOUBLE = -9")],
        ["enum cudecompDataType_t: CUDECOMP_DOUBLE: -2 → -9"],
        ("cudecomp.pyi", "    DOUBLE = -9"),
    ),
    "one more function": (
        [("/** Moves. */",
          "/** Counts. */\ncudecompResult_t cudecompGetCount(cudecompHandle_t h, int64_t* n);\n/** Moves. */")],
        ["function cudecompGetCount(cudecompHandle_t h, int64_t* n) is new", "a row in the annotation table"],
        ("cudecomp.pyi", "def get_count(h: int) -> int: ..."),
    ),
    "one more enum": (
        [("/** An opaque thing. */",
          "typedef enum { CUDECOMP_MODE_A, CUDECOMP_MODE_B } cudecompMode_t;\n/** An opaque thing. */")],
        ["enum cudecompMode_t is new: CUDECOMP_MODE_A, CUDECOMP_MODE_B"],
        ("cudecomp.pyi", "class Mode(IntEnum):\n    A = 0\n    B = 1"),
    ),
    "one more struct": (
        [("/** How to make it. */", "typedef struct { int32_t id; } cudecompExtra_t;\n/** How to make it. */")],
        ["struct cudecompExtra_t is new, 4 bytes"],
        ("cudecomp.pyi", "class Extra:"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", EDITS)
def test_likely_edits(change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replacements, told, (file, text) = EDITS[change]
    package = generate(GOLDEN / "line_07.h", tmp_path)
    header = edit(tmp_path, "line_07", *replacements)
    capsys.readouterr()
    generate(header, tmp_path)
    report = capsys.readouterr().out
    for sentence in told:
        assert sentence in report
    assert text in (package / file).read_text()
    # It is also Cython that translates.
    command = [sys.executable, "-m", "cython", "-3", "-o", str(tmp_path / "x.c"), "cudecomp_bindings/cudecomp.pyx"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_report_of_equal_interfaces(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--report"]) == 0
    assert capsys.readouterr().out == "The interfaces are the same.\n"


def test_report_tells_renames(tmp_path: Path) -> None:
    old = parse_header(GOLDEN / "line_07.h").summary()
    header = edit(tmp_path, "line_07", ("bool periodic[3]; ", "bool wraps[3]; "), ("cudecompInit_F(", "cudecompInitF("))
    report = compare(old, parse_header(header).summary()).text()
    assert "field periodic is gone, perhaps renamed to wraps" in report
    assert "function cudecompInit_F is gone, perhaps renamed to cudecompInitF" in report
    assert "in the annotation table its new name as the key, or `until`" in report


# --check


@pytest.mark.parametrize("damage", ["edited", "missing"])
def test_check_fails_with_a_diff(damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path)]) == 0
    path = tmp_path / "_internal" / "search.py"
    if damage == "edited":
        path.write_text(path.read_text().replace("CUDA_DRIVER = ", "DRIVER = "))
    else:
        path.unlink()
    capsys.readouterr()
    assert main(["--check", "--out", str(tmp_path)]) == 1
    out, error = capsys.readouterr()
    assert "+++ _internal/search.py (generated)" in out
    assert '+CUDA_DRIVER = "libcuda.so.1"' in out
    assert ("-DRIVER = " in out) == (damage == "edited")
    assert re.search(r"codegen: 1 of \d+ files in .* are out of date; run: python -m codegen\n", error)
    assert path.exists() == (damage == "edited")


def test_another_header_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--header", str(GOLDEN / "line_05.h")])
    assert "--header with another header needs --out" in capsys.readouterr().err


# Table against header


def test_function_that_the_table_lacks_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = edit(tmp_path, "line_07", ("/** Moves. */", "int cudecompX(void);\n/** Moves. */"))
    generate(header, tmp_path)
    assert "note: function cudecompX is not in lines.toml: generated by rule\n" in capsys.readouterr().err


def test_function_that_the_header_lacks_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = edit(tmp_path, "line_07", ("cudecompInit_F(", "cudecompInitF("))
    arguments = ["--header", str(header), "--out", str(tmp_path), "--annotations", str(GOLDEN / "lines.toml")]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "lines.toml names what the header (0.7.3) lacks:\n  - function cudecompInit_F" in error
    assert "If it was renamed, change the key and keep `python`; if it was removed, give the row an `until`." in error


def test_versions_excuse_what_a_header_lacks() -> None:
    table = {"functions": {"f": {"since": "0.6"}, "g": {"until": "0.5"}, "h": {}}}
    header = parse_header(GOLDEN / "line_05.h")
    with pytest.raises(CodegenError) as caught:
        Annotations(table, "table").compare(header)
    assert re.findall("function (.)\n", str(caught.value)) == ["h"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"function": {}}, r"unknown section \[function\]; known: arrays"),
        ({"functions": {"f": {"pyhton": "f"}}}, "f: unknown column pyhton; known: gil, hidden, out, python, since"),
        ({"functions": {"f": {"gil": "free"}}}, 'f: gil is "free", expected "kept" or "released"'),
    ],
)
def test_mistakes_in_the_table(table: dict[str, object], message: str) -> None:
    with pytest.raises(CodegenError, match=message):
        Annotations(table, "table.toml")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('f = { out = ["y"] }', r"rows.toml: f: out names y, which is no parameter; they are x"),
        ('f = { python = "g" }', "f and g are both called g in Python: name one of them in rows.toml"),
    ],
)
def test_mistakes_between_table_and_header(
    row: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "rows.toml"
    table.write_text(f"[functions]\n{row}\n")
    header = header_of(tmp_path, "int f(int x);\nint g(int x);")
    assert main(["--header", str(header), "--out", str(tmp_path), "--annotations", str(table)]) == 2
    assert re.search(message, capsys.readouterr().err)


# What is not supported, said clearly


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("#include <mystery.h>", r"does not parse as C \(only mpi.h, .*:\n  .*small.h:3: 'mystery.h' file not found"),
        ("int f(void) { return 1; }", "inline function f is more than one call"),
        (
            "int g(int);\nstatic inline int f(int x) { int y = x; return g(y); }",
            "inline function f is more than one call",
        ),
        ("int g(int);\nstatic inline int f(int x) { return g(x ? x : g(1)); }", r"expression `g \( 1 \)` in inline"),
        ("int g(int);\nstatic inline int f(void) { return g((int)sizeof(float[3])); }", "expression `sizeof"),
        ("struct s { int a : 3; };", "bit field s.a"),
        ("typedef struct { int x; } in_t;\ntypedef struct { in_t i; } out_t;", "field out_t.i of type in_t"),
        ("typedef struct { int x[2][2][2]; } t;", r"field t.x of type int\[2\]\[2\]\[2\]"),
        ("typedef union { int x; } u;", "small.h:3: union u"),
        ("typedef struct { int x; } t;\nt f(void);", "function f returns t by value"),
        ("typedef struct { int x; } t;\nint f(t value);", "parameter value of f is a struct by value"),
        ("int f(int x, ...);", "variadic function f"),
        ("int f(int (*callback)(void));", "function pointer callback"),
        ("extern int v;", "variable v"),
        ("int f(long double x);", "type long double of x"),
    ],
)
def test_not_supported(body: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CodegenError, match=f"not supported: (.|\n)*{message}"):
        parse_header(header_of(tmp_path, body))


def test_enum_values_beyond_an_int(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.toml").write_text("")
    header = header_of(tmp_path, "typedef enum { BIG = 0x80000000u } flags_t;")
    assert main(["--header", str(header), "--out", str(tmp_path), "--annotations", str(tmp_path / "t.toml")]) == 2
    assert "not supported: enum flags_t: BIG = 2147483648 does not fit an int" in capsys.readouterr().err


def test_calls_of_unknown_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.toml").write_text("")
    header = header_of(tmp_path, "static inline int f(int x) { return __builtin_abs(x); }")
    assert main(["--header", str(header), "--out", str(tmp_path), "--annotations", str(tmp_path / "t.toml")]) == 2
    assert "inline function f calls __builtin_abs, which the header does not declare" in capsys.readouterr().err


def test_headers_before_05(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = tmp_path / "cudecomp.h"
    header.write_text(
        "#include <string>\n#define CUDECOMP_MAJOR 0\n#define CUDECOMP_MINOR 4\n#define CUDECOMP_PATCH 2\n"
        "enum cudecompResult_t { CUDECOMP_RESULT_SUCCESS = 0 };\nvoid f(cudecompResult_t);\n"
    )
    assert main(["--header", str(header), "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"codegen: not supported: {header}\n"
        "  - its version is 0.4.2, the oldest supported is 0.5\n"
        "  - it includes the C++ header <string> (line 1)\n"
        "  - it uses enum tags such as cudecompResult_t (line 5) as type names, which only C++ does\n"
    )


def test_missing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--header", str(tmp_path / "no.h"), "--out", str(tmp_path)]) == 2
    assert f"cannot read the header {tmp_path / 'no.h'}: No such file or directory" in capsys.readouterr().err
    assert main(["--annotations", str(tmp_path / "no.toml"), "--out", str(tmp_path)]) == 2
    assert f"cannot read the annotation table {tmp_path / 'no.toml'}" in capsys.readouterr().err
    assert main(["--report", "--out", str(tmp_path)]) == 2
    assert f"cannot read the model to compare with, {tmp_path / 'model.json'}" in capsys.readouterr().err


# Small rules


@pytest.mark.parametrize(
    ("c_name", "python"),
    [
        ("Init_F", "init_f"),
        ("GetPencilInfo", "get_pencil_info"),
        ("TransposeXToY", "transpose_x_to_y"),
        ("UpdateHalosX", "update_halos_x"),
        ("GetNVSHMEMSize", "get_nvshmem_size"),
    ],
)
def test_names_by_rule(c_name: str, python: str) -> None:
    assert snake_case(c_name) == python


def test_comments() -> None:
    comment = comments.parse_comment("""/**
 * @brief Does @p this and
 * that.
 *
 * More about it.
 *
 * @param[in,out] x   the x,
 *                    continued
 * @par Collective
 * Over all.
 * @return nothing
 */""")
    assert comment.summary == "Does this and that."
    assert comment.details == ("More about it.",)
    assert comment.parameters == {"x": "the x, continued"}
    assert comment.sections == (("Collective", "Over all."),)
    assert comment.returns == "nothing"
    assert comments.parse_comment("///< one\n   ///< two").summary == "one two"
    assert comments.parse_comment("/** @cond */").summary == ""


# NVIDIA's headers, which are not part of this project


def nvidia_headers() -> list[Path]:
    folder = os.environ.get("CUDECOMP_TEST_NVIDIA_HEADERS")
    return sorted(Path(folder).rglob("cudecomp.h")) if folder else []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("header", nvidia_headers() or [None], ids=lambda path: path.parent.name if path else "none")
def test_nvidia_headers(header: Path | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if header is None:
        pytest.skip("CUDECOMP_TEST_NVIDIA_HEADERS does not name a folder with cudecomp.h of NVIDIA's releases")
    out = tmp_path / "cudecomp_bindings"
    version = tuple(int(re.search(rf"CUDECOMP_{part} (\d+)", _with_version(header))[1]) for part in ("MAJOR", "MINOR"))
    code = main(["--header", str(header), "--out", str(out)])
    if version < (0, 5):
        assert code == 2
        assert f"not supported: {header}" in capsys.readouterr().err
        return
    assert code == 0
    assert "generated by rule" not in capsys.readouterr().err
    compile_package(out)
    names = ["init", "grid_desc_create", "transpose_x_to_y", "update_halos_z"]
    assert run(out, None, f"result = all(hasattr(cd, name) for name in {names})") is True


def _with_version(header: Path) -> str:
    """The text of a header, with that of the version header that may lie beside it."""
    return "".join(path.read_text() for path in [header, *header.parent.glob("cudecomp_version.h")])
