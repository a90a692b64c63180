"""Findings as SARIF 2.1.0, which code hosts and editors show beside the lines.

The format: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from core.trace.finding import KINDS

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_OTHERS = {
    "exceeds_expectation": "a counter above what is expected of the launch",
    "refused": "a file or a launch that cannot be checked",
}
RULES = {**KINDS, **_OTHERS}  # what a result may be about, by its identifier


@dataclass(frozen=True)
class Result:
    """One thing to show: its rule, a sentence, the file, and the line (0 for the whole file)."""

    rule: str
    message: str
    file: PurePath
    line: int = 0


def sarif(results: Iterable[Result], version: str) -> dict[str, Any]:
    """A SARIF log with one run, as plain data; `version` is the program's.

    Files are named by their paths as they are given, relative ones from the repository's root.
    """
    rules = list(RULES)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Tilescope",
                        "version": version,
                        "rules": [
                            {"id": rule, "shortDescription": {"text": _sentence(RULES[rule])}}
                            for rule in rules
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(result, rules) for result in results],
            }
        ],
    }


def _result(result: Result, rules: list[str]) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(result.file)}}
    if result.line > 0:
        place["region"] = {"startLine": result.line}
    what = f"{result.rule} {_uri(result.file)} {result.message}"
    return {
        "ruleId": result.rule,
        "ruleIndex": rules.index(result.rule),
        "level": "error",
        "message": {"text": result.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"finding/v1": hashlib.sha256(what.encode()).hexdigest()},
    }


def _uri(file: PurePath) -> str:
    return file.as_uri() if file.is_absolute() else quote(file.as_posix())


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
