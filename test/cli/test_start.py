"""What the program needs before it begins."""

import subprocess

import conftest


def test_the_program_is_linked_with_the_library_of_c_alone():
    """The library of C++ is a sixth of the start: it has thousands of addresses to fill in. `.cargo/config.toml` keeps it out."""
    listed = subprocess.run(["ldd", conftest.program()], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in listed
    assert "libstdc++" not in listed, listed
