# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The engine's copies against plain loops, natively and, where a cross compiler and an emulator exist, for aarch64."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ENGINE = Path(__file__).resolve().parents[2] / "engine"
SOURCES = [
    ENGINE / "tests/copy_test.cc",
    *sorted((ENGINE / "src/copy").glob("*.cc")),
    ENGINE / "src/plan/plan.cc",
    ENGINE / "src/geometry/geometry.cc",
]


def build(compiler, program, *flags):
    folders = [f"-I{ENGINE / name}" for name in ("src", "include", "stubs")]
    options = "-std=c++17 -O2 -Wall -Wextra -Werror -pthread".split()
    command = [compiler, *options, *flags, *folders, *SOURCES, "-o", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run(*command, least=2000):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    compared, differing = map(int, re.search(r"(\d+) compared, (\d+) differing", done.stdout).groups())
    assert compared > least
    assert differing == 0
    return done.stdout


def test_copies_match_plain_loops(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++ on the path")
    build("g++", tmp_path / "copy_test")
    run(tmp_path / "copy_test")


def test_copies_under_sanitizers(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++ on the path")
    build("g++", tmp_path / "copy_test", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    run(tmp_path / "copy_test")


def test_copies_of_several_threads_under_a_sanitizer(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++ on the path")
    build("g++", tmp_path / "copy_test", "-fsanitize=thread")
    run(tmp_path / "copy_test", "60", least=1000)


def test_copies_on_aarch64(tmp_path):
    compiler, emulator = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64-static")
    if not compiler or not emulator:
        pytest.skip("needs aarch64-linux-gnu-g++ and qemu-aarch64-static")
    build(compiler, tmp_path / "copy_test", "-static")
    assert "NEON" in run(emulator, tmp_path / "copy_test")
