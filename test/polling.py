"""Polls for conditions that other processes fulfil, in place of fixed sleeps."""

import time


def until(condition, timeout, what):
    """Polls until `condition()` returns a true value, and returns it. Raises TimeoutError with `what` after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"after {timeout} s: {what}")
        time.sleep(0.005)
