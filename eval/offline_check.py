"""Runs the program with no network but loopback and tells every attempt to reach another host and every file it leaves.

    python -m eval.offline_check [--llm NAME] [--models DIR] [--json]

Reads papers, asks, runs a question set, and serves: the page with what it links to, and a question over HTTP.
Each command is a process of its own with a new home folder of a user, without proxies and with no setting that forbids
the network. Where the machine allows it they run in a network namespace that has loopback alone, and under strace,
which sees native code too; a hook in Python (`eval/watch`) records connections and look-ups of names in any case.
Exit status 1 when another host was tried, a command failed, the page names another host, or a file was left outside
`--home`, the temporary folder and what the command was told to write.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin

import click

from rag.settings import ENV_PREFIX, default_home

ROOT = Path(__file__).resolve().parent.parent
WATCH = Path(__file__).resolve().parent / "watch"
NAMESPACE = ("unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
# Calls that reach out, and calls that make or open a file.
CALLS = "connect,sendto,sendmsg,sendmmsg,open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2"
PROGRAM = ("-c", "from rag.cli import main; main()")
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
PAPERS = (
    ("Kettle clocks", "We keep time with kettles. A kettle clock loses 4 minutes a day. It needs 12 W of power."),
    ("Paper bridges", "We build bridges of paper. The longest paper bridge carries 31 kg. It spans 2.5 metres."),
    ("Salt sensors", "A sensor measures salt in soup. It reaches 93.5% accuracy on six soups."),
)
QUESTION = "How much does the longest paper bridge carry?"
_ADDRESS = re.compile(
    r"(?:connect|sendto|sendmsg|sendmmsg)\(.*?sin6?_port=htons\((?P<port>\d+)\).*?"
    r"(?:inet_addr\(\"(?P<four>[^\"]+)\"|inet_pton\(AF_INET6, \"(?P<six>[^\"]+)\")"
)
_WRITTEN = re.compile(
    r"\b(?:open(?:at)?\((?:[\w.<>/-]+, )?\"(?P<opened>[^\"]+)\", [A-Z_|]*O_(?:WRONLY|RDWR|CREAT)[^=]*|"
    r"creat\(\"(?P<created>[^\"]+)\".*|mkdir(?:at)?\((?:[\w.<>/-]+, )?\"(?P<folder>[^\"]+)\".*|"
    r"rename(?:at2?)?\((?:[\w.<>/-]+, )?\"[^\"]+\", (?:[\w.<>/-]+, )?\"(?P<renamed>[^\"]+)\".*)"
    r"\s=\s(?P<result>-?\d+)"
)
_LINK = re.compile(r"""<(?:link|script|img|iframe)\b[^>]*?\b(?:href|src)=["']([^"']+)""", re.IGNORECASE)


@dataclass(slots=True)
class Found:
    """What was seen: commands that failed, hosts tried, files left, other hosts that the page names, all as text."""

    failed: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    means: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was found to be wrong."""
        return not (self.failed or self.hosts or self.files or self.linked)


def is_outside(host: str, port: int) -> bool:
    """Whether an address is of another host, or asks for names (a resolver on this machine would pass that on)."""
    try:
        return port == 53 or not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def hosts_in(trace: str) -> list[str]:
    """`HOST:PORT` of each address outside this machine in what strace wrote, or the hook's `HOST PORT` lines."""
    found = []
    for line in trace.splitlines():
        if (seen := _ADDRESS.search(line)) is not None:
            host, port = seen["four"] or seen["six"], int(seen["port"])
            # Port 0 is libc putting addresses in order; nothing is sent.
            if port and is_outside(host, port):
                found.append(f"{host}:{port}")
    return found


def written_in(trace: str, folder: Path) -> list[Path]:
    """Files and folders that calls in a trace made or opened for writing; relative ones are in `folder`."""
    found = []
    for line in trace.splitlines():
        seen = _WRITTEN.search(line)
        if seen is not None and not seen["result"].startswith("-"):
            name = seen["opened"] or seen["created"] or seen["folder"] or seen["renamed"]
            found.append(Path(os.path.normpath(folder / name)))
    return found


def other_hosts(page: str, address: str) -> list[str]:
    """Addresses on other hosts that the page's own elements would have a browser fetch."""
    found = (urljoin(address, link) for link in _LINK.findall(page))
    return sorted({link for link in found if link.startswith(("http:", "https:")) and not link.startswith(address)})


class Check:
    """One run of everything in a scratch folder."""

    def __init__(self, scratch: Path, models: Path, llm: str) -> None:
        self.found = Found()
        self._scratch = scratch
        self._llm = llm
        self._number = 0
        self.user, self.temporary, self.here = (scratch / name for name in ("user", "tmp", "here"))
        self.home = scratch / "home"
        for folder in (self.user, self.temporary, self.here, scratch / "seen"):
            folder.mkdir()
        self._prefix: tuple[str, ...] = ()
        if _works((*NAMESPACE, "true")):
            self._prefix += NAMESPACE
            self.found.means.append("network namespace")
        self._strace = shutil.which("strace") is not None and _works(("strace", "-qq", "-o", os.devnull, "true"))
        self.found.means += ["strace"] if self._strace else []
        self.found.means.append("Python audit hook")
        self._environment = {name: os.environ[name] for name in KEPT if name in os.environ} | {
            "HOME": str(self.user),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": f"{WATCH}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            ENV_PREFIX + "MODELS": str(models),
        }

    def _started(self, *command: str) -> tuple[list[str], dict[str, str]]:
        """The command line with what watches it, and its environment."""
        self._number += 1
        seen = self._scratch / "seen" / str(self._number)
        watched = ["strace", "-f", "-qq", "--seccomp-bpf", "-s", "200", "-e", f"trace={CALLS}", "-o", f"{seen}.calls"]
        return (
            [*self._prefix, *(watched if self._strace else ()), sys.executable, *command],
            self._environment | {"WATCH_FILE": f"{seen}.hook"},
        )

    def command(self, name: str, *arguments: str) -> None:
        """One command of the program, to its end."""
        command, environment = self._started(*PROGRAM, name, *arguments, "--home", str(self.home))
        done = subprocess.run(
            command, env=environment, cwd=self.here, capture_output=True, text=True, timeout=600, check=False
        )
        self.found.steps.append(name)
        if done.returncode:
            self.found.failed.append(f"{name}: status {done.returncode}: {done.stderr.strip()[-400:]}")

    def served(self) -> None:
        """The server: its page with what that links to, and a question, from a client in the same namespace."""
        command, environment = self._started("-m", "eval.offline_check", "--client", str(self.home), "--llm", self._llm)
        done = subprocess.run(
            command, env=environment, cwd=self.here, capture_output=True, text=True, timeout=600, check=False
        )
        self.found.steps.append("serve")
        if done.returncode:
            self.found.failed.append(f"serve: {done.stderr.strip()[-600:]}")
        else:
            self.found.linked += json.loads(done.stdout.strip().splitlines()[-1])

    def judge(self) -> Found:
        """Read what was recorded and look at what lies about."""
        allowed = (
            self.home,
            self.temporary,
            self._scratch / "seen",
            self._scratch / "out",
            Path("/dev"),
            Path("/proc"),
        )
        files: set[Path] = set()
        for trace in sorted((self._scratch / "seen").glob("*.calls")):
            text = trace.read_text(errors="replace")
            self.found.hosts += hosts_in(text)
            files |= set(written_in(text, self.here))
        for hook in sorted((self._scratch / "seen").glob("*.hook")):
            for line in hook.read_text().splitlines():
                host, _, port = line.rpartition(" ")
                if is_outside(host, int(port)):
                    self.found.hosts.append(f"{host}:{port}")
        for folder in (self.user, self.here):
            files |= {path for path in folder.rglob("*") if path.is_file()}
        self.found.hosts = sorted(set(self.found.hosts))
        self.found.files = sorted(str(path) for path in files if not any(path.is_relative_to(a) for a in allowed))
        return self.found


def _works(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except OSError:
        return False


def check(scratch: Path, models: Path, llm: str) -> Found:
    """Do all of it below `scratch`; `llm` empty answers without a model. Some ten seconds a command."""
    run = Check(scratch, models, llm)
    papers = scratch / "papers.jsonl"
    papers.write_text("".join(json.dumps({"title": title, "abstract": text}) + "\n" for title, text in PAPERS))
    questions = scratch / "questions.jsonl"
    asked = {"id": "q1", "question": QUESTION, "kind": "fact", "relevant": ["papers.jsonl#2"]}
    questions.write_text(json.dumps(asked) + "\n")
    model = ("--llm", llm) if llm else ("--no-llm",)
    run.command("ingest", str(papers))
    run.command("ask", QUESTION, *model)
    run.command("eval", str(questions), *model, "--out", str(scratch / "out"))
    run.served()
    return run.judge()


def client(home: str, llm: str) -> list[str]:
    """Start the server beside this process, load the page, ask; returns the other hosts that the page names."""
    command = [sys.executable, *PROGRAM, "serve", "--home", home, "--port", "0"]
    with subprocess.Popen(
        [*command, *(["--llm", llm] if llm else ["--no-llm"])], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            said = server.stdout.readline() if server.stdout else ""
            address = next((word for word in said.split() if word.startswith("http")), "")
            if not address:
                raise click.ClickException(f"the server said {said!r}")
            page = _read(address + "/").decode()
            named = other_hosts(page, address)
            for link in _own_links(page, address):
                _read(link)
            body = json.dumps({"question": QUESTION}).encode()
            request = urllib.request.Request(f"{address}/api/ask", body, {"Content-Type": "application/json"})
            answer = json.loads(_read(request))
            if not answer["citations"]:
                raise click.ClickException(f"the answer cites nothing: {answer['text']!r}")
            time.sleep(2)  # what a library does in the background comes soon after the start
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    return named


def _own_links(page: str, address: str) -> Iterator[str]:
    for link in dict.fromkeys(urljoin(address + "/", found) for found in _LINK.findall(page)):
        if link.startswith(address):
            yield link


def _read(target: str | urllib.request.Request) -> bytes:
    with urllib.request.urlopen(target, timeout=300) as response:
        data: bytes = response.read()
    return data


@click.command()
@click.option("--llm", default="smollm2-135m", show_default=True, help="Answering model; empty for none.")
@click.option(
    "--models", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of pulled models."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option("--client", "home", hidden=True)
def main(llm: str, models: Path | None, as_json: bool, home: str | None) -> None:
    """See the module."""
    if home is not None:
        click.echo(json.dumps(client(home, llm)))
        return
    folder = models or Path(os.environ.get(ENV_PREFIX + "MODELS") or default_home() / "models")
    with tempfile.TemporaryDirectory() as scratch:
        found = check(Path(scratch), folder, llm)
    if as_json:
        click.echo(json.dumps({name: getattr(found, name) for name in Found.__slots__}, indent=2))
    else:
        click.echo(f"Watched by: {', '.join(found.means)}. Ran: {', '.join(found.steps)}.")
        for name, lines in (
            ("failed", found.failed),
            ("another host tried", found.hosts),
            ("left outside the home", found.files),
            ("the page names", found.linked),
        ):
            click.echo(f"{name}: " + ("; ".join(lines) or "nothing"))
    sys.exit(0 if found.clean else 1)


if __name__ == "__main__":
    main()
