"""The sender of a channel post is the chat that it was sent on behalf of."""

from datetime import datetime
from datetime import timezone

import pytest

from telegram import CallbackQuery
from telegram import Chat
from telegram import Message
from telegram import Poll
from telegram import PollAnswer
from telegram import Update
from telegram import User

WHEN = datetime(2024, 3, 1, tzinfo=timezone.utc)
CHANNEL = Chat(-1, Chat.CHANNEL, title="news")
GROUP = Chat(-2, Chat.GROUP, title="talk")
USER = User(7, "Ann", False)


def message(**fields):
    return Message(1, WHEN, GROUP, **fields)


@pytest.mark.parametrize("kind", ["channel_post", "edited_channel_post", "message", "edited_message"])
def test_a_chat_that_sends_is_the_sender(kind):
    update = Update(1, **{kind: message(sender_chat=CHANNEL)})
    assert update.effective_sender == CHANNEL
    assert update.effective_sender == CHANNEL


@pytest.mark.parametrize("kind", ["message", "edited_message"])
def test_without_a_chat_it_is_the_user(kind):
    assert Update(1, **{kind: message(from_user=USER)}).effective_sender == USER


def test_who_presses_a_button_is_the_sender_and_not_who_sent_the_message():
    query = CallbackQuery("1", USER, "instance", message=message(sender_chat=CHANNEL), data="x")
    assert Update(1, callback_query=query).effective_sender == USER


def test_a_chat_that_votes_is_still_the_sender():
    assert Update(1, poll_answer=PollAnswer("1", [0], voter_chat=CHANNEL)).effective_sender == CHANNEL
    assert Update(1, poll_answer=PollAnswer("1", [0], user=USER)).effective_sender == USER


@pytest.mark.parametrize("kind", ["channel_post", "edited_channel_post"])
def test_a_post_has_a_sender_next_to_its_channel(kind):
    update = Update(1, **{kind: message(sender_chat=CHANNEL, from_user=USER)})
    assert update.effective_sender == CHANNEL
    assert update.effective_chat == GROUP
    assert update.effective_user is None


def test_it_is_not_on_the_list_of_what_has_no_sender():
    lines = [line.strip() for line in Update.effective_sender.__doc__.splitlines()]
    assert any(":attr:`poll`" in line for line in lines)
    assert [line for line in lines if line.startswith("*") and line.endswith("channel_post`")] == []


def test_a_poll_has_no_sender():
    poll = Poll("1", "which?", [], 0, False, False, Poll.REGULAR, False)
    assert Update(1, poll=poll).effective_sender is None
