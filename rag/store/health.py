"""Whether the three parts of a library are whole and in step, and what puts them right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from rag.errors import LibraryDamaged, LibraryError
from rag.store.dense import chunk_id
from rag.store.derived import LEXICAL, Derived
from rag.store.locks import Lock
from rag.store.records import LEAVING, PENDING, Records

T = TypeVar("T", str, int)


@dataclass(frozen=True, slots=True)
class Health:
    """What `Index.verify` found. `problems` are sentences, none where all is well.

    A count of -1 is that of an index which cannot be opened.
    """

    papers: int
    chunks: int
    dense_chunks: int
    lexical_papers: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """What `Index.repair` did, as sentences; none where there was nothing to do."""

    done: tuple[str, ...]


def examine(records: Records, derived: Derived) -> Health:
    """Read every file and compare the database with both indexes. Changes nothing."""
    torn = records.database.check()
    if torn:
        raise records.database.damaged(torn)
    problems: list[str] = []
    waiting = len(records.by_state(PENDING)) + len(records.by_state(LEAVING))
    if waiting:
        problems.append(f"{waiting} papers wait to be brought into the indexes or out of them.")
    counts = records.chunk_counts()
    dense = _dense_difference(derived, counts)
    lexical = _lexical_difference(derived, set(counts))
    problems += [f"Vector index: {dense[1]}."] if dense[1] else []
    problems += [f"Lexical index: {lexical[1]}."] if lexical[1] else []
    return Health(len(counts), sum(counts.values()), dense[0], lexical[0], tuple(problems))


def mend(
    records: Records, derived: Derived, lock: Lock, *, wait_s: float = 0.0, thorough: bool = False
) -> tuple[str, ...]:
    """Finish what an interrupted run left, and make anew an index that is not whole; returns what was done.

    Looks at sizes and times of files and at the number of papers only, `thorough` at everything. Raises LibraryBusy
    when there is something to do and another process writes, LibraryDamaged where the database itself is torn.
    """
    if not thorough and not _needs_work(records, derived):
        return ()
    done: list[str] = []
    with lock.held(wait_s):
        if thorough and (torn := records.database.check()):
            raise records.database.damaged(torn)
        problem = derived.dense_problem(thorough=thorough)
        if problem:
            derived.rebuild_dense()
            done.append(f"The vector index was made anew from the stored vectors, because {problem}.")
        problem = derived.lexical_problem(thorough=thorough)
        if problem:
            derived.rebuild_lexical()
            done.append(f"The lexical index was made anew, because {problem}.")
        try:
            came, went = derived.carry()
        except LibraryDamaged:
            derived.rebuild_dense()
            derived.rebuild_lexical()
            done.append("Both indexes were made anew, because one of them could not be opened.")
            came, went = derived.carry()
        if came:
            done.append(f"{came} papers that an interrupted run had begun to store were finished.")
        if went:
            done.append(f"{went} papers that an interrupted run had begun to remove were removed.")
        if not thorough and (differs := _out_of_number(records, derived)):
            derived.rebuild_lexical()
            done.append(f"The lexical index was made anew, because {differs}.")
            if _dense_difference(derived, records.chunk_counts())[1]:
                derived.rebuild_dense()
                done.append("The vector index was made anew too.")
        if thorough:
            counts = records.chunk_counts()
            for difference, rebuild, name in (
                (_dense_difference(derived, counts)[1], derived.rebuild_dense, "vector"),
                (_lexical_difference(derived, set(counts))[1], derived.rebuild_lexical, "lexical"),
            ):
                if difference:
                    rebuild()
                    done.append(f"The {name} index was made anew, because {difference}.")
    return tuple(done)


def _needs_work(records: Records, derived: Derived) -> bool:
    return bool(
        records.by_state(PENDING)
        or records.by_state(LEAVING)
        or derived.dense_problem()
        or derived.lexical_problem()
        or _out_of_number(records, derived)
    )


def _out_of_number(records: Records, derived: Derived) -> str | None:
    """Whether the lexical index holds more or fewer papers than the library: the database was cut short, or it was.

    A damaged write-ahead log is passed over by SQLite without a word; only this tells that papers went with it.
    """
    if not records.stamps(LEXICAL):
        return None
    try:
        lexical = derived.lexical()
        lexical.reload()
        indexed = lexical.count()
    except LibraryDamaged:
        return "it could not be opened"
    held = records.count()
    if indexed > held:
        return (
            f"it holds {indexed} papers and the library {held}: what was stored last was lost with a damaged "
            "library.sqlite-wal, so read those files again"
        )
    return None if indexed == held else f"it holds {indexed} papers and the library {held}"


def _dense_difference(derived: Derived, counts: dict[int, int]) -> tuple[int, str | None]:
    """Chunks in the dense index, and what is wrong with them."""
    try:
        problem = derived.dense_problem(thorough=True)
        if problem:
            return -1, problem
        held = derived.dense().ids()
    except LibraryError as error:
        return -1, str(error)
    wanted = {chunk_id(row, ordinal) for row, count in counts.items() for ordinal in range(count)}
    return len(held), _difference(wanted, held, "chunks")


def _lexical_difference(derived: Derived, rows: set[int]) -> tuple[int, str | None]:
    """Papers in the lexical index, and what is wrong with them."""
    try:
        problem = derived.lexical_problem(thorough=True)
        if problem:
            return -1, problem
        held = derived.lexical().rows()
    except LibraryError as error:
        return -1, str(error)
    return len(held), _difference(rows, held, "papers")


def _difference(wanted: set[T], held: set[T], what: str) -> str | None:
    if wanted == held:
        return None
    return f"{len(wanted - held)} {what} are missing in it and {len(held - wanted)} are too many"
