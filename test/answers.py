"""The Python side of a worker: reads a question per line from standard input, and writes an answer per line to standard output.

    python answers.py

See worker.py for the format. Output of scripts and libraries goes to standard error, so that standard output has only answers.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path

# The part of the package that runs in engines, which needs no extension.
sys.path.append(str(Path(__file__).resolve().parents[1] / "python" / "urdf_usd"))


def main():
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            script, *arguments = json.loads(line)
            try:
                answer = json.dumps({"answer": importlib.import_module(script).answer(*arguments)})
            except Exception:  # noqa: BLE001 - reported by the test that asked
                answer = json.dumps({"failed": traceback.format_exc()})
            sys.stdout.flush()
            sys.stderr.flush()
            print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
