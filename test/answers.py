"""Answers questions about assets: JSON lists on standard input, a line each, and a line of JSON for each on standard output.

    python answers.py

See worker.py. Standard output is for the answers alone: what a script or a library prints goes to standard error.
"""

import importlib
import json
import os
import sys
import traceback


def main():
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            script, *arguments = json.loads(line)
            try:
                told = json.dumps({"answer": importlib.import_module(script).answer(*arguments)})
            except Exception:  # noqa: BLE001 - whatever it is, the test that asked tells it
                told = json.dumps({"failed": traceback.format_exc()})
            sys.stdout.flush()
            sys.stderr.flush()
            print(told, file=answers, flush=True)


if __name__ == "__main__":
    main()
