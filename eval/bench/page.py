"""The page of figures: what was measured on what, one section a part, and how far two runs agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.bench.figures import AGREE, Agreement
from eval.bench.setting import Raw, Section, gigabytes
from eval.markdown import table


@dataclass(frozen=True, slots=True)
class Measured:
    """A part as it was measured: by which command, on what, when (UTC), for how long, under which load."""

    name: str
    command: str
    machine: Mapping[str, Any]
    began: str
    seconds: float
    load: tuple[Sequence[float], Sequence[float]]
    raw: Raw

    def as_json(self) -> Raw:
        return {
            "name": self.name,
            "command": self.command,
            "machine": dict(self.machine),
            "began": self.began,
            "seconds": self.seconds,
            "load": [list(each) for each in self.load],
            "raw": self.raw,
        }

    @classmethod
    def of(cls, data: Raw) -> Measured:
        """What `as_json` wrote."""
        before, after = data["load"]
        fields = {name: data[name] for name in ("name", "command", "machine", "began", "seconds", "raw")}
        return cls(**fields, load=(before, after))


def page(parts: Sequence[tuple[Measured, Section]], extra: Sequence[Section], agreed: Sequence[Agreement]) -> str:
    """BENCH.md. `extra` sections are derived from others; `agreed` compares with another run."""
    lines = ["# Measured speed", "", *_head([measured for measured, _ in parts]), ""]
    for measured, section in parts:
        lines += [f"## {section.title}", "", f"    {measured.command}", "", *_body(section)]
    for section in extra:
        lines += [f"## {section.title}", "", *_body(section)]
    if agreed:
        lines += ["## Agreement of two runs", "", *agreement_lines(agreed), ""]
    return "\n".join(lines).rstrip() + "\n"


def _body(section: Section) -> list[str]:
    lines = []
    for one in section.tables:
        lines += [table(one.header, one.rows)]
    return [*lines, *(f"{note}\n" for note in section.notes)]


def _head(measured: Sequence[Measured]) -> list[str]:
    machine = measured[0].machine
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    flags = f" ({', '.join(machine['flags'])})" if machine["flags"] else ""
    lines = [
        "Written by `make bench`. What is compared was measured in one run, in which the compared ones took turns; "
        "each is the median of its repetitions with the least and the greatest in parentheses. Ratios carry over to "
        "other machines better than times do.",
        "",
        f"Machine: {machine['processor']}{flags}, {machine['cores']} cores, {gigabytes(machine['memory'])} memory, "
        f"{machine['system']}. Python {machine['python']}, {packages}.",
        "",
    ]
    quietest = min((one.load[0][0] for one in measured if one.load[0]), default=0.0)
    if quietest > machine["cores"] / 2:
        lines += [
            f"**The machine was not quiet**: other work kept the load at {quietest:.1f} or more. Times are longer and "
            "spreads wider than they would be.",
            "",
        ]
    rows = [
        (
            one.name,
            f"`{one.machine['commit']}`",
            one.began,
            f"{one.seconds:.0f} s",
            " → ".join(f"{load[0]:.1f}" if load else "–" for load in one.load),
        )
        for one in measured
    ]
    return [*lines, table(("part", "commit", "begun (UTC)", "took", "load before → after"), rows)]


def agreement_lines(agreed: Sequence[Agreement]) -> list[str]:
    """Which ratios of two runs agree, in words and as a table."""
    off = [one for one in agreed if not one.agrees]
    said = f"{len(agreed) - len(off)} of {len(agreed)} ratios are within {AGREE:.0%} of the earlier run's"
    rows = [
        (one.name, f"{one.old:.2f}", f"{one.new:.2f}", f"{one.difference:+.0%}{'' if one.agrees else ' **differs**'}")
        for one in agreed
    ]
    return [f"{said}.", "", table(("ratio", "earlier", "this run", "difference"), rows)]
