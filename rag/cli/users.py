"""`users` and `keys`: who may use a server that asks people to sign in."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from rag.cli.common import home_of, home_option

if TYPE_CHECKING:
    from ui.accounts import Accounts


@click.group()
def users() -> None:
    """People who may sign in. As soon as there is one, `serve` asks everybody to."""


@users.command("add")
@home_option
@click.argument("name")
@click.option("--admin", is_flag=True, help="May also change the library, the models and what is evaluated.")
def add_user(home: str | None, name: str, admin: bool) -> None:
    """Add a person. The password is asked for, or read from standard input."""
    user = _accounts(home).add_user(name, _password(), admin=admin)
    click.echo(f"{user.name} can sign in{' as admin' if admin else ''}; a server that runs has to be started again.")


@users.command("list")
@home_option
def list_users(home: str | None) -> None:
    """Who may sign in."""
    for user in _accounts(home).book().users:
        click.echo(f"{user.name}\t{'admin' if user.admin else 'reader'}\tsince {_day(user.created)}")


@users.command("remove")
@home_option
@click.argument("name")
def remove_user(home: str | None, name: str) -> None:
    """Remove a person and their keys. Their sessions end at once; their conversations stay."""
    _accounts(home).remove_user(name)
    click.echo(f"{name} can no longer sign in.")


@users.command("passwd")
@home_option
@click.argument("name")
def change_password(home: str | None, name: str) -> None:
    """Give a person another password, which ends their sessions."""
    _accounts(home).set_password(name, _password())
    click.echo(f"{name} has another password; sessions from before have ended.")


@click.group()
def keys() -> None:
    """Keys for programs that ask over HTTP, OpenAI's protocol or MCP."""


@keys.command("add")
@home_option
@click.argument("name")
@click.option("--user", default=None, help="Whose key it is; without, the key is a user of its own.")
@click.option("--admin", is_flag=True, help="May also change the library (a user's key: where the user may).")
def add_key(home: str | None, name: str, user: str | None, admin: bool) -> None:
    """Add a key and print it, once."""
    text = _accounts(home).add_key(name, user=user, admin=admin)
    click.echo("Keep this key, it is not shown again. Programs send it as: Authorization: Bearer KEY", err=True)
    click.echo(text)


@keys.command("list")
@home_option
def list_keys(home: str | None) -> None:
    """Which keys there are, without the keys themselves."""
    for key in _accounts(home).book().keys:
        owner = f"of {key.user}" if key.user else "its own user"
        click.echo(f"{key.name}\t{owner}\t{'admin' if key.admin else 'reader'}\tsince {_day(key.created)}")


@keys.command("remove")
@home_option
@click.argument("name")
def remove_key(home: str | None, name: str) -> None:
    """Remove a key; it is refused from then on."""
    _accounts(home).remove_key(name)
    click.echo(f"The key {name} is no longer accepted.")


def _accounts(home: str | None) -> Accounts:
    from rag.settings import default_home
    from ui.accounts import Accounts

    return Accounts(home_of(home) or default_home())


def _password() -> str:
    """From a prompt that shows nothing, twice, or the first line of standard input; never from the command line."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
