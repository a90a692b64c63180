"""What tests and their child processes take of a processor: `python -m pytest -p tests.times`.

The clock of a busy machine says little. At the end stand the sums of the folders, the functions
that take most, all their cases together, and those of more than a second without the mark `slow`.
"""

import os
from collections import Counter

import pytest

MOST_SHOWN = 40
_NAME = "processor_s"
_taken, _cases, _slow = Counter(), Counter(), set()


def _now() -> float:
    """Seconds of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    item.begun_s = _now()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    try:
        return (yield)
    finally:
        item.user_properties.append((_NAME, _now() - item.begun_s))


def pytest_runtest_logreport(report):
    """Also of what processes of xdist's ran."""
    if report.when == "teardown":
        function = report.nodeid.partition("[")[0]
        _taken[function] += dict(report.user_properties).get(_NAME, 0.0)
        _cases[function] += 1
        if "slow" in report.keywords:
            _slow.add(function)


def pytest_terminal_summary(terminalreporter):
    folders = Counter()
    for function, seconds in _taken.items():
        folders[function.partition("::")[0].rpartition("/")[0]] += seconds
    unmarked = {f: s for f, s in _taken.items() if s > 1 and f not in _slow}
    terminalreporter.section(f"{sum(_taken.values()):.0f} s of a processor")
    for title, rows in (
        ("folders", folders.most_common()),
        ("functions", _taken.most_common(MOST_SHOWN)),
        ("more than a second, and not marked slow", Counter(unmarked).most_common()),
    ):
        terminalreporter.write_line(f"{title}:")
        for name, seconds in rows:
            cases = f"  ({_cases[name]} cases)" if name in _cases else ""
            terminalreporter.write_line(f"{seconds:9.1f}  {name}{cases}")
