"""Programs and libraries define no symbols of the C or C++ library, which they would replace for everything that is linked with them."""

import functools
import json
import re
import subprocess

import pytest

import conftest

BINARY = conftest.PROGRAM

#: Shared libraries whose functions a program must not define.
C_LIBRARIES = re.compile(r"/(ld-linux[^/]*|lib(c|m|pthread|dl|rt|util)\.so[.\d]*)$")

#: Functions of libstdc++ that a program may replace (operators new and delete), and its runtime. Inline functions are in every program.
CXX_RUNTIME = re.compile(r"_Z(nw|na|dl|da)|__cxa_|__gxx_")

#: Symbols that the linker or a start file (crt1.o, libc_nonshared.a) adds to every program.
START_FILES = {"_init", "_fini", "_start", "_end", "_edata", "__bss_start", "__data_start", "data_start", "_IO_stdin_used", "__dso_handle"}


def defined(file, *options):
    """Returns the global symbols that `file` defines. Versioned ones are copies of data of a shared library."""
    # A Rust library has members that are not object files.
    lines = subprocess.run(["nm", "--defined-only", "--extern-only", *options, file], capture_output=True, text=True).stdout
    symbols = (line.split()[-1] for line in lines.splitlines() if len(line.split()) == 3)
    return {symbol for symbol in symbols if "@" not in symbol or "-D" in options}


@functools.cache
def symbols_of_the_system():
    listed = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
    loaded = re.findall(r"/\S+", listed)
    of_c = [path for path in loaded if C_LIBRARIES.search(path)]
    of_cxx = subprocess.run(["cc", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True, check=True).stdout.strip()
    exported = [symbol.split("@")[0] for path in of_c for symbol in defined(path, "-D")]
    cxx = [symbol.split("@")[0] for symbol in defined(of_cxx, "-D")]
    names = set(exported) | {symbol for symbol in cxx if CXX_RUNTIME.match(symbol)}
    assert {"epoll_wait", "recvmsg", "sendto", "malloc", "free", "open", "_Znwm", "_ZdlPvm"} <= names
    return names - START_FILES


@functools.cache
def members():
    """Returns the library names of the crates of the workspace; the Python extension is a program."""
    command = ["cargo", "metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"]
    listed = subprocess.run(command, cwd=conftest.ROOT, capture_output=True, text=True, check=True).stdout
    packages = json.loads(listed)["packages"]
    return sorted(package["name"] for package in packages if any("lib" in target["kind"] for target in package["targets"]))


def library(crate):
    """Returns the most recently built library of a crate, beside the program."""
    built = (BINARY.parent / "deps").glob(f"lib{crate}-*.rlib")
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


def replaced_by(file):
    """Returns the system functions that `file` defines or exports."""
    exported = () if file.suffix == ".rlib" else (symbol.split("@")[0] for symbol in defined(file, "-D"))
    return sorted({*defined(file), *exported} & symbols_of_the_system())


def test_programs_define_nothing_of_the_c_library():
    programs = [program for program in (BINARY, BINARY.parent / "bridge", BINARY.parent / "lib_native.so") if program.exists()]
    assert {program.name: replaced_by(program) for program in programs} == {program.name: [] for program in programs}


@pytest.mark.parametrize("crate", members())
def test_libraries_define_nothing_of_the_c_library(crate):
    built = library(crate)
    if built is None:
        pytest.skip("not built")
    assert replaced_by(built) == [], built


def test_programs_are_position_independent():
    header = BINARY.read_bytes()[:18]
    assert header[:4] == b"\x7fELF"
    assert int.from_bytes(header[16:18], "little") == 3, "ET_DYN"
    dynamic = subprocess.run(["readelf", "--dynamic", BINARY], capture_output=True, text=True, check=True).stdout
    assert re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic), "not a program"


def test_all_profiles_are_linked_alike():
    """The tested program may be of another profile than the released one."""
    root = conftest.ROOT
    for file in (root / "build.rs", root / "Cargo.toml", root / ".cargo/config.toml", *root.glob("crates/*/build.rs")):
        if file.exists():
            assert not re.search(r"no-pie|relocation-model|fno-exceptions", file.read_text()), file
