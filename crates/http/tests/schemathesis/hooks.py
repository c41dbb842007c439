"""Says what the document cannot: options are in the query or in the body; and bounds how long requests wait."""

import re
from typing import Any

import schemathesis

LENGTH = re.compile(r"[0-9]+(\.[0-9]+)?|([0-9]+(\.[0-9]+)?(ms|s|m|min|h|d))+")


def is_length(value: object) -> bool:
    """Whether the node would wait for it: what is wrong is sent as it was generated."""
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return value >= 0
    return isinstance(value, str) and LENGTH.fullmatch(value) is not None


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Valid requests say what they want once; and a generated wait of a year would take a year."""
    if case.query and isinstance(case.body, dict) and case.meta and case.meta.generation.mode.is_positive:
        case.query = {}
    for options in (case.query, case.body):
        if isinstance(options, dict) and is_length(options.get("wait")):
            options["wait"] = "10ms"
