"""Conversations on disk: kept exactly, private per user, found, renamed, deleted."""

from rag.types import Filters
from tests.fakes_ui import FakeLibrary
from ui.conversations import Conversations
from ui.exchange import new_exchange


def talk(kept, user, question, home):
    conversation = kept.begin(user, question)
    exchange = new_exchange(question, Filters())
    for event in FakeLibrary(home).stream(question):
        exchange = exchange.after(event)
    conversation = conversation.with_exchange(exchange)
    kept.save(user, conversation)
    return conversation


def test_a_conversation_survives_a_restart_exactly(tmp_path):
    kept = Conversations(tmp_path)
    conversation = talk(kept, "ann", "How does KiteNet steer?", tmp_path)
    kept.close()
    again = Conversations(tmp_path)
    assert again.load("ann", conversation.conversation_id) == conversation
    again.close()


def test_another_users_conversation_does_not_exist(tmp_path):
    kept = Conversations(tmp_path)
    conversation = talk(kept, "ann", "How does KiteNet steer?", tmp_path)
    known, exchange = conversation.conversation_id, conversation.exchanges[0]
    assert kept.load("bob", known) is None
    assert kept.listed("bob") == ()
    assert kept.find("bob", exchange.exchange_id) is None
    assert not kept.rename("bob", known, "mine")
    assert not kept.delete("bob", known)
    kept.save("bob", conversation.until(exchange.exchange_id))
    kept.put("bob", known, exchange.ended("failed"))
    assert kept.load("ann", known) == conversation
    kept.close()


def test_found_by_title_question_and_answer(tmp_path):
    kept = Conversations(tmp_path)
    first = talk(kept, "ann", "How does KiteNet steer?", tmp_path)
    kept.rename("ann", first.conversation_id, "Flying 100%")
    second = kept.begin("ann", "Something else")
    assert [c.conversation_id for c in kept.listed("ann")] == [second.conversation_id, first.conversation_id]
    for text in ("100%", "kitenet", "sound of its line"):
        assert [c.conversation_id for c in kept.listed("ann", text)] == [first.conversation_id], text
    assert kept.listed("ann", "100_") == ()
    kept.close()


def test_deleting_takes_all_of_it(tmp_path):
    kept = Conversations(tmp_path)
    conversation = talk(kept, "ann", "How does KiteNet steer?", tmp_path)
    assert kept.delete("ann", conversation.conversation_id)
    assert kept.load("ann", conversation.conversation_id) is None
    assert kept.find("ann", conversation.exchanges[0].exchange_id) is None
    kept.close()


def test_asking_again_replaces_what_followed(tmp_path):
    kept = Conversations(tmp_path)
    conversation = talk(kept, "ann", "How does KiteNet steer?", tmp_path)
    later = new_exchange("And then?", Filters())
    longer = conversation.with_exchange(later)
    assert longer.until(conversation.exchanges[0].exchange_id).exchanges == ()
    assert longer.until(later.exchange_id) == conversation
    assert [turn.role for turn in longer.history()] == ["user", "assistant"]
    kept.close()
