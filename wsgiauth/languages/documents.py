"""Messages in documents for JSON."""

from collections.abc import Mapping

from wsgiauth.languages.language import Language
from wsgiauth.messages import Message


def has_message(value: object) -> bool:
    """Return whether there is a message in a document."""
    if isinstance(value, Mapping):
        return any(map(has_message, value.values()))
    return any(map(has_message, value)) if isinstance(value, list) else isinstance(value, Message)


def translated(value: object, language: Language) -> object:
    """Return a document with its messages in a language."""
    if isinstance(value, Mapping):
        return {name: translated(each, language) for name, each in value.items()}
    if isinstance(value, list):
        return [translated(each, language) for each in value]
    return language.say(value) if isinstance(value, Message) else value
