"""Robots by name (robot_descriptions) and in Git repositories."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ._errors import Diagnostic, Error, OptionError

_NAMED = "robot_descriptions:"
_GITHUB = re.compile(r"https://github\.com/(?P<owner>[^/]+)/(?P<name>[^/#?]+?)(?:\.git)?(?:/(?:tree|blob)/(?P<ref>[^/]+)(?:/(?P<path>.+))?)?/?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# Deeper than packages are in repositories.
_MAX_DEPTH = 4


@dataclass
class Found:
    """A robot that is not given by its path."""

    path: Path
    packages: dict[str, Path] = field(default_factory=dict)
    """The folders of the ROS packages beside it."""
    xacro_args: dict[str, str] = field(default_factory=dict)


def find(source: str) -> Found | None:
    """Returns the robot that `robot_descriptions:NAME`, the name of a module of robot_descriptions, `git+URL[@REF][#subdirectory=PATH]` or
    an address of GitHub is; `None` for anything else."""
    if source.startswith(_NAMED):
        return _description(source.removeprefix(_NAMED))
    if source.startswith("git+"):
        url, _, fragment = source.removeprefix("git+").partition("#")
        head, at, ref = url.rpartition("@")
        # An @ before the path is that of a user.
        if at and "/" not in ref and "/" in head.partition("://")[2]:
            url = head
        else:
            ref = ""
        return _repository(url, ref or "HEAD", fragment.removeprefix("subdirectory="))
    if address := _GITHUB.fullmatch(source):
        url = f"https://github.com/{address['owner']}/{address['name']}.git"
        return _repository(url, address["ref"] or "HEAD", address["path"] or "")
    if re.fullmatch(r"\w+_description", source) and not os.path.exists(source) and importlib.util.find_spec("robot_descriptions"):
        return _description(source)
    return None


def _refuse(code: str, message: str, remedy: str) -> Error:
    error = OptionError if code == "command-usage" else Error
    return error((Diagnostic("error", code, message, help=remedy),))


def _description(name: str) -> Found:
    """Returns a robot of the package robot_descriptions, which fetches its repository if it is not in its cache."""
    if importlib.util.find_spec("robot_descriptions") is None:
        raise _refuse("command-failed", f"{_NAMED}{name} needs the package robot_descriptions", "pip install robot_descriptions")
    names = (name, f"{name}_description")
    module_name = next((module for module in names if importlib.util.find_spec(f"robot_descriptions.{module}")), None)
    if module_name is None:
        raise _refuse("command-usage", f"robot_descriptions has no robot {name!r}", "python -m robot_descriptions list")
    try:
        module = importlib.import_module(f"robot_descriptions.{module_name}")
    except Exception as error:
        raise _refuse("command-failed", f"robot_descriptions cannot fetch {module_name}: {error}", "check the network") from error
    path = getattr(module, "URDF_PATH", None) or getattr(module, "XACRO_PATH", None)
    if path is None:
        raise _refuse("command-usage", f"{module_name} is no URDF or xacro description", "choose another description of the robot")
    packages = _packages(Path(module.REPOSITORY_PATH))
    # Some names of packages in URIs are those of their folders.
    folder = Path(module.PACKAGE_PATH)
    packages.setdefault(folder.name, folder)
    arguments = {} if hasattr(module, "URDF_PATH") else dict(getattr(module, "XACRO_ARGS", {}))
    return Found(Path(path), packages, arguments)


def _repository(url: str, ref: str, path: str) -> Found:
    """Returns a robot in a Git repository, of which copies are kept in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "urdf_usd" / "git"
    name = re.sub(r"\W+", "-", url.rstrip("/").removesuffix(".git").rpartition("/")[2])
    folder = _copy(url, ref, cache / f"{name}-{_digest(url)}")
    found = folder / path
    if not found.resolve().is_relative_to(folder.resolve()):
        raise _refuse("command-usage", f"{path} is not in the repository", "give a path in the repository")
    return Found(found, _packages(folder))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _copy(url: str, ref: str, copies: Path) -> Path:
    """Returns the folder with the state of a branch, tag or commit.

    Each commit has its own folder, which never changes: other processes may read it.
    """
    copies.mkdir(parents=True, exist_ok=True)
    # The commit of the last use, for uses without a network.
    latest = copies / f"ref-{_digest(ref)}"
    try:
        commit = ref if _COMMIT.fullmatch(ref) else _commit(url, ref, copies)
        if commit is None or not (copies / commit).is_dir():
            commit = _fetch(url, ref, copies)
    except FileNotFoundError as error:
        raise _refuse("command-failed", f"cannot fetch {url}: git is not installed", "install git") from error
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip()
        if not latest.is_dir():
            raise _refuse("command-failed", f"cannot fetch {ref} of {url}: {why}", "check the address, the reference and the network") from error
        warnings.warn(f"cannot fetch {ref} of {url}, so an earlier copy is used: {why}", stacklevel=2)
        return latest.resolve()
    if latest.resolve().name != commit:
        with tempfile.TemporaryDirectory(dir=copies) as temporary:
            link = Path(temporary) / "link"
            link.symlink_to(commit)
            # Processes see either the earlier link or this one.
            link.replace(latest)
    return copies / commit


def _git(*arguments: str | Path, folder: Path) -> str:
    """Runs git in a folder, and returns its output."""
    # Without a terminal, a wrong address would wait for a password.
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _commit(url: str, ref: str, folder: Path) -> str | None:
    """Returns the commit of a branch or tag of a repository; `None` if it names neither."""
    # An annotated tag is a separate object; `^{}` is its commit.
    lines = _git("ls-remote", "--", url, ref, f"{ref}^{{}}", folder=folder).splitlines()
    commits = {name: commit for commit, name in (line.split("\t") for line in lines)}
    # The order in which `git fetch` looks for a name.
    names = (f"{prefix}{ref}{suffix}" for prefix in ("", "refs/", "refs/tags/", "refs/heads/") for suffix in ("^{}", ""))
    return next((commits[name] for name in names if name in commits), None)


def _fetch(url: str, ref: str, copies: Path) -> str:
    """Fetches a branch, tag or commit into the folder of its commit, and returns the commit."""
    with tempfile.TemporaryDirectory(dir=copies) as temporary:
        copy = Path(temporary) / "copy"
        _git("init", "--quiet", copy, folder=copies)
        _git("fetch", "--quiet", "--depth", "1", "--", url, ref, folder=copy)
        _git("checkout", "--quiet", "--detach", "FETCH_HEAD", folder=copy)
        commit = _git("rev-parse", "HEAD", folder=copy)
        try:
            copy.rename(copies / commit)
        except OSError:
            # Another process was faster.
            if not (copies / commit).is_dir():
                raise
    return commit


def _packages(repository: Path) -> dict[str, Path]:
    """Returns the ROS packages in a folder by name."""
    found: dict[str, Path] = {}
    for folder in _folders(repository):
        try:
            text = (folder / "package.xml").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if name := re.search(r"<name>\s*([^<\s]+)\s*</name>", text):
            found.setdefault(name[1], folder)
    return found


def _folders(root: Path, depth: int = 0) -> Iterator[Path]:
    yield root
    if depth < _MAX_DEPTH:
        for folder in sorted(root.iterdir()):
            if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith("."):
                yield from _folders(folder, depth + 1)
