"""What all parts of the measurement share: options, models, libraries; and what a part hands back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from eval.bench.figures import Spread
from eval.bench.libraries import SIZES, Libraries, Sized
from rag.models import known as models
from rag.settings import default_home, load_settings

if TYPE_CHECKING:
    from rag.models.embeddings import Encoder

Raw = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """One run. `work` is where raw figures go, `homes` where libraries are kept between runs. `papers` None means made
    ones; `given` maps sizes to homes of ready libraries; `say` tells a person what is being done.
    """

    work: Path
    homes: Path
    quick: bool
    rounds: int
    llm: str
    papers: Path | None
    given: Mapping[int, Path]
    say: Callable[[str], None]

    def size(self, full: int, quick: int) -> int:
        """How many of something: less in a quick run."""
        return quick if self.quick else full

    @cached_property
    def encoder(self) -> Encoder:
        """The program's embedder."""
        from rag.models.embeddings import load_encoder

        settings = load_settings()
        return load_encoder(models.ensure(settings.embedder, settings.home, "embedder"), settings)

    @cached_property
    def embedder(self) -> Path:
        """The embedder's folder."""
        settings = load_settings()
        return _folder(models.ensure(settings.embedder, settings.home, "embedder"))

    @cached_property
    def model(self) -> models.ResolvedModel:
        """The answering model."""
        return models.ensure(self.llm, default_home(), "llm")

    @property
    def reference(self) -> str:
        """What names the answering model to every process: `auto` could mean another one in each."""
        return self.model.name if self.model.name in models.known() else self.llm

    @cached_property
    def model_folder(self) -> Path:
        """The answering model's folder. Raises ModelError for one behind an address."""
        return _folder(self.model)

    @cached_property
    def libraries(self) -> Libraries:
        """Where libraries come from."""
        return Libraries(self.homes, self.given, self.papers, self.encoder)

    @cached_property
    def sized(self) -> list[Sized]:
        """The libraries to measure, ascending."""
        self.say("  libraries")
        return self.libraries.all(SIZES[:1] if self.quick and not self.given else SIZES)


def _folder(resolved: models.ResolvedModel) -> Path:
    from rag.errors import ModelError

    if resolved.path is None:
        raise ModelError(f"{resolved.name} is behind an address; the measurement needs a model on this machine.")
    return resolved.path


@dataclass(frozen=True, slots=True)
class Table:
    """A table of figures ready to print."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What a part's raw figures say. `ratios` are compared between runs; `notes` are sentences under the tables."""

    title: str
    tables: tuple[Table, ...]
    ratios: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()


class Part(Protocol):
    """A module that measures one thing. `measure` gives raw figures as JSON values, `report` what they say."""

    NAME: str

    def measure(self, bench: Bench) -> Raw: ...
    def report(self, raw: Raw) -> Section: ...


def value(found: Spread, unit: str = "", digits: int = 1) -> str:
    """`median (low – high) unit`."""
    return (
        f"{found.median:,.{digits}f} ({found.low:,.{digits}f} – {found.high:,.{digits}f}){f' {unit}' if unit else ''}"
    )


def times(found: Spread) -> str:
    """A ratio with its spread."""
    return f"**{found.median:.2f}** ({found.low:.2f} – {found.high:.2f})"


def ms(number: float | None) -> str:
    """Milliseconds, in seconds from one on; "–" for none."""
    if number is None:
        return "–"
    return f"{number / 1000:,.2f} s" if number >= 1000 else f"{number:,.1f} ms"


def gigabytes(number: float | None) -> str:
    """Bytes as GB (10^9), as MB below 0.1 GB; "–" for none."""
    if number is None:
        return "–"
    return f"{number / 1e9:.2f} GB" if number >= 1e8 else f"{number / 1e6:.1f} MB"
