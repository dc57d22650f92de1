"""Programs that start slowly (OpenUSD, validators, Newton, Node) run once for all tests of a process and answer many questions.

A worker is `answers.py` in a Python, or `answers.mjs` in Node. A question is a JSON list, the name of a script of this folder and the
arguments of its function `answer`; what that returns is the answer. One line of text each.
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
    """A process of its own, started when it is first asked and again when it has ended."""

    def __init__(self, interpreter, environment=None):
        self.command = [interpreter, HERE / ("answers.mjs" if interpreter == NODE else "answers.py")]
        # Unbuffered, in C as well: what a library prints is there before the answer.
        self.environment = os.environ | {"PYTHONUNBUFFERED": "1"} | (environment or {})
        self.process = None

    def ask(self, script, *arguments, timeout=600):
        """What `answer` of a script returns for these arguments, and what was written to standard error meanwhile.

        Fails the test if the function raises, or if the process ends or is not done within `timeout` seconds."""
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
        # By position, not by the file's own: the process writes to the same open file.
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
    """The worker of this process for a purpose. Scripts of one purpose share a process; what they import must get along."""
    made = Worker(interpreter, environment)
    atexit.register(made.stop)
    return made
