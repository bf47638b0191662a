"""The table of the benchmarks: goals, measured values, and the machine."""

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

HEAD = ("what", "goal", "measured", "verdict")


@dataclass(frozen=True)
class Goal:
    """A lower or upper bound (`sign` is ≥ or ≤) and its unit."""

    sign: str
    bound: float
    unit: str = ""

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.sign == "≥" else value <= self.bound

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g} {self.unit}".rstrip()


class Measured(NamedTuple):
    """A value for each goal of a row, and details in words."""

    values: Sequence[float]
    details: str = ""


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    goals: Sequence[Goal]
    measure: Callable[..., Measured]
    arguments: Sequence[Any] = ()

    def cells(self, measured: Measured) -> tuple[str, str, str, str]:
        pairs = list(zip(self.goals, measured.values, strict=True))
        is_met = all(goal.is_met(value) for goal, value in pairs)
        values = ", ".join(f"{_number(value)} {goal.unit}".rstrip() for goal, value in pairs)
        details = f"({measured.details})" if measured.details else ""
        goals = ", ".join(map(str, self.goals))
        return self.what, goals, f"{values} {details}".strip(), "met" if is_met else "not met"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def line(cells: Sequence[str]) -> str:
    what, goal, measured, verdict = cells
    return f"{verdict:8} {what}\n{'':8} {goal}: {measured}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def machine(folder: Path) -> str:
    """Return the processor, system, file system and versions that the figures depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("waitress", "WebOb", "msgspec"))
    return (
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB; "
        f"Linux {platform.release()}; {_file_system(folder)}; "
        f"Python {platform.python_version()}, {packages}."
    )


def _processor() -> str:
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            return text.partition(":")[2].strip()
    return platform.machine()


def _file_system(folder: Path) -> str:
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for text in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, disk = text.partition(" - ")
        if mount.split()[2] == number:
            return disk.split()[0]
    return "an unknown file system"
