"""Waiting for what other processes do, without sleeping for a fixed time."""

import time


def until(condition, timeout, what):
    """Polls until `condition()` returns something true and returns that. Raises TimeoutError that says `what` was missing."""
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"after {timeout} s: {what}")
        time.sleep(0.005)
