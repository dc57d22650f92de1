"""Runs slow-starting programs (OpenUSD, validators, Newton, Node) once for all tests of a process.

A worker is `answers.py` in a Python, or `answers.mjs` in Node. A question is a JSON list with the name of a script of this folder and
the arguments of its function `answer`, whose result is the answer. Each is a line of text.
"""

import atexit
import functools
import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
NODE = "node"


class Worker:
    """A process that is started at the first question, and again after it has ended."""

    def __init__(self, interpreter, environment=None):
        self.command = [interpreter, HERE / ("answers.mjs" if interpreter == NODE else "answers.py")]
        # Unbuffered, also in C: output of a library arrives before the answer.
        self.environment = os.environ | {"PYTHONUNBUFFERED": "1"} | (environment or {})
        self.process = None

    def ask(self, script, *arguments, timeout=600):
        """Returns the result of `answer` of a script for these arguments, and its output on standard error.

        Fails the test if the function raises, or the process ends or does not answer within `timeout` seconds."""
        if self.process is None or self.process.poll() is not None:
            self._start()
        before = self._errors()
        watch = threading.Timer(timeout, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps([script, *arguments], default=str) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        said = self._errors().removeprefix(before)
        if not line.endswith("\n"):
            self.stop()
            raise AssertionError(f"{script} ended, or took longer than {timeout} s, over {arguments}\n{said}")
        told = json.loads(line)
        assert "failed" not in told, f"{script} failed over {arguments}\n{told['failed']}"
        return told["answer"], said

    def _start(self):
        self.stop()
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, env=self.environment, encoding="utf-8"
        )

    def _errors(self):
        # Reads at an explicit position: the process shares the offset of the open file.
        return os.pread(self.stderr.fileno(), os.fstat(self.stderr.fileno()).st_size, 0).decode(errors="replace")

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.stderr.close()
            self.process = None


@functools.cache
def worker(interpreter, purpose, **environment):
    """Returns the worker of this process for a purpose. Scripts of one purpose share a process, so that their imports must be compatible."""
    made = Worker(interpreter, environment)
    atexit.register(made.stop)
    return made
