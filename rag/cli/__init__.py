"""The command line. Every command takes `--home`; errors are one sentence on standard error with exit status 1."""

from __future__ import annotations

import errno
import sys

import click

from rag.cli.ask import ask, search
from rag.cli.evaluate import evaluate
from rag.cli.ingest import ingest, reindex
from rag.cli.keep import backup, doctor, restore
from rag.cli.models import models
from rag.cli.papers import papers
from rag.cli.serve import serve
from rag.cli.users import keys, users
from rag.errors import AbstractQAError


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with `abstract-qa ingest PATH`, then `abstract-qa ask QUESTION` or `abstract-qa serve`.",
)
@click.option(
    "--home", type=click.Path(path_type=str), default=None, help="Where the library lives.", expose_value=True
)
@click.version_option(package_name="abstract-qa")
@click.pass_context
def cli(context: click.Context, home: str | None) -> None:
    """Ask your library of abstracts; every sentence of the answer carries the paper it comes from."""
    context.obj = home


# What the disk that output goes to may answer; any other OSError that gets here is a defect.
DISK_REFUSES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO})

for command in (ask, backup, doctor, evaluate, ingest, keys, models, papers, reindex, restore, search, serve, users):
    cli.add_command(command)


def main() -> None:
    """Run the command line and end the process with its exit status: 0 done, 1 refused or failed, 2 wrong usage."""
    try:
        # Outside of click's standalone mode the status of a command that ended early is what `main` returns.
        sys.exit(cli.main(standalone_mode=False) or 0)
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        click.echo("abstract-qa: stopped.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(1)
    except AbstractQAError as error:
        click.echo(f"abstract-qa: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong, and nothing can be said to it.
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        if error.errno not in DISK_REFUSES:
            raise
        click.echo(f"abstract-qa: {error.filename or 'The output'} cannot be written ({error.strerror}).", err=True)
        sys.exit(1)
