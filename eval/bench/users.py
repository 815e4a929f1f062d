"""Several people asking one server at once, and one who only searches meanwhile."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from eval.bench import server
from eval.bench.figures import Spread, middle, p95, spread
from eval.bench.setting import Bench, Raw, Section, Table, ms, value
from eval.bench.texts import SEEDS, fact_questions, search_questions

NAME = "users"
USERS = (1, 2, 4, 8)
LEAST = 4  # answers of a round, however few the users
SEARCHES = 20
PAUSE_S = 0.2


def measure(bench: Bench) -> Raw:
    """Every answer's times by number of users and round; times of searches while nobody and while 8 ask."""
    items = fact_questions(20, seeds=SEEDS.is_dir())
    questions = [item.question for item in items]
    queries = search_questions(SEARCHES)
    counts = USERS[:2] if bench.quick else USERS
    with server.Server(bench.libraries.small().home, bench.reference) as running:
        server.ask(running.client, questions[0])
        server.search(running.client, queries[0])
        levels: dict[str, list[Raw]] = {str(count): [] for count in counts}
        idle: list[list[float]] = []
        busy: list[list[float]] = []
        for number in range(bench.rounds):
            bench.say(f"  round {number + 1} of {bench.rounds}")
            idle.append([server.search(running.client, query) for query in queries])
            for count in counts:
                searched: list[float] = []
                done = threading.Event()
                watcher = threading.Thread(target=_search_on, args=(running.client, queries, done, searched))
                if count == counts[-1]:
                    watcher.start()
                levels[str(count)].append(_together(running.client, count, questions))
                done.set()
                if watcher.ident is not None:
                    watcher.join()
                    busy.append(searched)
        memory = running.memory()
        shown, ready = running.shown_ms, running.ready_ms
    return {
        "model": bench.model.name,
        "levels": levels,
        "idle": idle,
        "busy": busy,
        "memory": memory,
        "shown": shown,
        "ready": ready,
    }


def _together(client: httpx.Client, users: int, questions: list[str]) -> Raw:
    """One round: each user asks the next question as soon as the last is answered."""
    each = max(1, LEAST // users)

    def one(user: int) -> list[dict[str, float | None]]:
        return [server.ask(client, questions[(user * each + place) % len(questions)]) for place in range(each)]

    began = time.perf_counter()
    with ThreadPoolExecutor(users) as pool:
        answers = [answer for found in pool.map(one, range(users)) for answer in found]
    return {"seconds": time.perf_counter() - began, "answers": answers}


def _search_on(client: httpx.Client, queries: list[str], done: threading.Event, found: list[float]) -> None:
    """Search again and again until `done`, with pauses, as a person would who types."""
    place = 0
    while not done.wait(PAUSE_S) or not found:
        found.append(server.search(client, queries[place % len(queries)]))
        place += 1


def _of(rounds: list[Raw], figure: str) -> list[list[float]]:
    """Milliseconds by round; "waiting" is from the first source to the first token."""
    if figure == "waiting":
        return [
            [
                answer["first_token"] - answer["first_source"]
                for answer in one["answers"]
                if answer["first_token"] is not None and answer["first_source"] is not None
            ]
            for one in rounds
        ]
    return [[answer[figure] for answer in one["answers"] if answer[figure] is not None] for one in rounds]


def report(raw: Raw) -> Section:
    """Answers a minute and times by number of users."""
    rows, rates = [], dict[str, Spread]()
    medians: dict[str, dict[str, float]] = {}
    for users, rounds in raw["levels"].items():
        rates[users] = spread([60 * len(one["answers"]) / one["seconds"] for one in rounds])
        cells, medians[users] = [], {}
        for figure in ("first_source", "waiting", "total"):
            found = [one for one in _of(rounds, figure) if one]
            if found:
                medians[users][figure] = middle(found).median
            cells.append(f"{ms(medians[users][figure])} (p95 {ms(p95(found))})" if found else "–")
        rows.append((users, value(rates[users]), *cells))
    first, last = min(raw["levels"], key=int), max(raw["levels"], key=int)
    idle, busy = middle(raw["idle"]), middle(raw["busy"])
    ratios = {
        f"users: answers a minute, {last} / {first}": rates[last].median / rates[first].median,
        f"users: search while {last} ask / while nobody asks": busy.median / idle.median,
    }
    for figure in ("first_source", "total"):
        ratios[f"users: {figure.replace('_', ' ')}, {last} / {first}"] = medians[last][figure] / medians[first][figure]
    return Section(
        "Several users at once",
        (Table(("users", "answers/minute", "first source", "source to first token", "total"), tuple(rows)),),
        ratios,
        (
            f"A search takes {ms(idle.median)} while nobody asks (p95 {ms(p95(raw['idle']))}) and {ms(busy.median)} "
            f"while {last} people ask (p95 {ms(p95(raw['busy']))}).",
            f"One `abstract-qa serve` process with {raw['model']} over HTTP. Its page was there {ms(raw['shown'])} "
            f"after the start, its model {ms(raw['ready'])} after. Each user asks again once answered.",
        ),
    )
