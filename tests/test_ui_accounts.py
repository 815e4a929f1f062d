"""Users, keys, sessions and limits."""

import json
import stat
import time

import pytest
from click.testing import CliRunner

from rag.cli import cli
from rag.errors import InputError, SettingsError
from ui.accounts import Accounts
from ui.limits import Limit, network_of
from ui.sessions import Sessions

PASSWORD = "long enough for a test"


@pytest.fixture
def accounts(tmp_path):
    return Accounts(tmp_path / "home")


def test_a_user_is_known_by_their_password_only(accounts):
    accounts.add_user("Anna", PASSWORD, admin=True)
    assert accounts.check("anna", PASSWORD).admin
    assert accounts.check("anna", PASSWORD + "x") is None
    assert accounts.check("bert", PASSWORD) is None
    assert accounts.check("anna", "x" * 100_000) is None


def test_the_file_holds_no_password_and_no_key_and_is_its_owners(accounts):
    accounts.add_user("anna", PASSWORD)
    key = accounts.add_key("ci")
    text = accounts.path.read_text()
    assert PASSWORD not in text
    assert key not in text
    assert json.loads(text)["users"][0]["password"].startswith("$argon2id$")
    assert stat.S_IMODE(accounts.path.stat().st_mode) == 0o600
    assert [path.name for path in accounts.path.parent.glob(".access*")] == []


def test_an_unknown_name_is_checked_as_long_as_a_known_one(accounts, monkeypatch):
    accounts.add_user("anna", PASSWORD)
    verified = []
    hasher = accounts._hasher
    monkeypatch.setattr(type(hasher), "verify", lambda self, kept, given: verified.append(kept) or False)
    accounts.check("anna", "wrong")
    accounts.check("nobody", "wrong")
    assert len(verified) == 2
    # The same parameters, so the same work.
    assert verified[0].split("$")[1:4] == verified[1].split("$")[1:4]


@pytest.mark.parametrize("name", ["", "a b", "a|b", "key:x", "../x", "ä", "x" * 65, "-x"])
def test_names_that_are_refused(accounts, name):
    with pytest.raises(InputError, match="cannot be a name"):
        accounts.add_user(name, PASSWORD)


def test_a_short_password_a_taken_name_and_an_unknown_one_are_refused(accounts):
    with pytest.raises(InputError, match="has 5 characters"):
        accounts.add_user("anna", "short")
    accounts.add_user("anna", PASSWORD)
    with pytest.raises(InputError, match="already"):
        accounts.add_user("ANNA", PASSWORD)
    with pytest.raises(InputError, match="no user bert"):
        accounts.remove_user("bert")


def test_a_damaged_file_is_said_and_lets_nobody_in(accounts):
    accounts.add_user("anna", PASSWORD)
    accounts.path.write_text('{"users": [')
    with pytest.raises(SettingsError, match="cannot be read"):
        accounts.check("anna", PASSWORD)


def test_keys_are_known_until_removed_and_go_with_their_user(accounts):
    accounts.add_user("anna", PASSWORD)
    hers, own = accounts.add_key("phone", user="anna"), accounts.add_key("ci", admin=True)
    assert accounts.key(hers).user == "anna"
    assert accounts.key(own).admin
    assert accounts.key(own + "x") is None
    accounts.remove_user("anna")
    assert accounts.key(hers) is None
    accounts.remove_key("ci")
    assert accounts.key(own) is None


def test_another_process_sees_a_change_at_once(accounts, tmp_path):
    other = Accounts(tmp_path / "home")
    accounts.add_user("anna", PASSWORD)
    assert other.check("anna", PASSWORD)
    accounts.remove_user("anna")
    assert other.check("anna", PASSWORD) is None


def test_a_session_ends_with_sign_out_password_user_and_time(accounts, tmp_path, monkeypatch):
    sessions = Sessions(tmp_path / "home", accounts, 1)
    anna = accounts.add_user("anna", PASSWORD)
    first, second = sessions.begin(anna), sessions.begin(anna)
    assert sessions.user(first).name == "anna"
    sessions.end(first)
    assert sessions.user(first) is None
    assert sessions.user(second).name == "anna"
    accounts.set_password("anna", PASSWORD + "2")
    assert sessions.user(second) is None
    third = sessions.begin(accounts.book().user("anna"))
    now = time.time()
    with monkeypatch.context() as later:
        later.setattr("ui.sessions.time.time", lambda: now + 3601)
        assert sessions.user(third) is None
    assert sessions.user(third).name == "anna"
    accounts.remove_user("anna")
    assert sessions.user(third) is None
    sessions.close()


def test_sessions_outlive_a_restart_and_the_file_signs_nobody_in(accounts, tmp_path):
    sessions = Sessions(tmp_path / "home", accounts, 1)
    text = sessions.begin(accounts.add_user("anna", PASSWORD))
    sessions.close()
    path = tmp_path / "home" / "sessions.sqlite"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert text.encode() not in path.read_bytes()
    again = Sessions(tmp_path / "home", accounts, 1)
    assert again.user(text).name == "anna"
    again.close()


def test_a_limit_counts_each_name_in_its_window():
    now = [0.0]
    limit = Limit(2, 60, lambda: now[0])
    assert [limit.take("a"), limit.take("a"), limit.take("b")] == [0, 0, 0]
    now[0] = 20.0
    assert limit.take("a") == 40
    assert limit.wait("a") == 40
    now[0] = 60.0
    assert limit.take("a") == 0
    assert Limit(0, 60).take("a") == 0


def test_a_customer_of_ipv6_is_one_address():
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1")
    assert network_of("192.0.2.1") != network_of("192.0.2.2")


def test_the_commands(tmp_path):
    home = str(tmp_path / "home")
    run = CliRunner().invoke
    assert run(cli, ["users", "add", "anna", "--admin", "--home", home], input=PASSWORD + "\n").exit_code == 0
    assert run(cli, ["users", "list", "--home", home]).output.startswith("anna\tadmin")
    added = run(cli, ["keys", "add", "ci", "--user", "anna", "--home", home])
    assert added.stdout.startswith("aqa_")
    assert added.stdout.strip() not in run(cli, ["keys", "list", "--home", home]).output
    assert run(cli, ["users", "passwd", "anna", "--home", home], input=PASSWORD + "3\n").exit_code == 0
    assert Accounts(tmp_path / "home").check("anna", PASSWORD + "3")
    assert run(cli, ["keys", "remove", "ci", "--home", home]).exit_code == 0
    assert run(cli, ["users", "remove", "anna", "--home", home]).exit_code == 0
    assert run(cli, ["users", "list", "--home", home]).output == ""
    assert isinstance(run(cli, ["users", "add", "anna", "--home", home], input="\n").exception, InputError)
    # No option takes a password, which would stand in the list of processes.
    assert "password" not in [p.name for p in cli.commands["users"].commands["add"].params]
