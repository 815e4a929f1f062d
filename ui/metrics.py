"""Counts and times of the server in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class Metrics:
    """The counters of one application. `papers` and `busy` are asked for when the metrics are read."""

    def __init__(self, papers: Callable[[], int], busy: Callable[[], int], ready: Callable[[], bool]) -> None:
        self.registry = CollectorRegistry()
        name = "abstract_qa_"
        self.questions = Counter(
            name + "questions", "Questions asked, by interface and how they ended.", ["interface", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.errors = Counter(name + "errors", "Questions that failed, by error.", ["type"], registry=self.registry)
        self.limited = Counter(
            name + "limited", "What was refused for being too frequent or too much at once.", ["what"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            name + "answer_seconds", "Seconds from the question to its first source, first text and end.", ["until"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.requests = Counter(
            name + "http_requests", "HTTP requests.", ["method", "route", "status"], registry=self.registry
        )
        self.request_seconds = Histogram(
            name + "http_request_seconds", "Seconds a request took, streams to their end.", ["route"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.sign_ins = Counter(name + "sign_ins", "Attempts to sign in.", ["result"], registry=self.registry)
        for gauge, text, value in (
            ("papers", "Papers in the library.", papers),
            ("questions_in_progress", "Questions being answered or waiting for the model.", busy),
            ("queue_length", "Questions waiting for those before them.", lambda: max(0, busy() - 1)),
            ("ready", "1 once the model is loaded.", lambda: int(ready())),
        ):
            Gauge(name + gauge, text, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        """Everything, as a Prometheus server reads it."""
        return generate_latest(self.registry)
