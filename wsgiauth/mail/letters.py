"""The texts of emails: one template and one typed object each.

The first line of a template is the subject, the second one is empty.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime
from email.errors import MessageError
from email.message import EmailMessage
from typing import Literal, NamedTuple
from unicodedata import category
from urllib.parse import quote
from uuid import uuid4

from wsgiauth.accounts.names import email_in_part, key
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages import Languages
from wsgiauth.languages.language import Language
from wsgiauth.mail.html import Frame, HtmlLetters, Support, go_to
from wsgiauth.mail.transports import DeliveryError
from wsgiauth.messages import Message, _
from wsgiauth.settings import Settings
from wsgiauth.settings.features import catalogue_folders, template_folders
from wsgiauth.settings.mail import parse_sender
from wsgiauth.web.templates import Content, Templates

# RFC 2047. `email` decodes an encoded word when it folds a header, line breaks included. `names`
# and `settings.mail` refuse it in new addresses and in MAIL_FROM.
_ENCODED_WORD = "=?"

_MAX_LINE = 998  # characters, RFC 5322 section 2.1.1

# U+3002 separates the parts of a domain name, too (RFC 3490 section 3.1).
_LINK_CHARACTERS = frozenset("/:.\u3002")

_PATH_CHARACTERS = frozenset("/:?")  # of a link to a page, which can be in an address

SAMPLE_ROOT = "https://example.org/auth"  # with which the links of samples begin


class SiteLabel(NamedTuple):
    """The attribute `site` of every template.

    Example:
        def subject(site: SiteLabel) -> str:
            return f"A badge of {site.name}"
    """

    name: str  # SITE_NAME, or else the host of PUBLIC_URL
    url: str
    usernames: bool  # whether people have a username, not an email address alone
    password_login: bool  # whether users log in with a password
    support: str  # SUPPORT_URL, or ""
    support_text: str  # the same as people read it: an address without mailto:


class Letter(Content, ABC):
    """The attribute `letter` of a template.

    The template of the example is the file `templates/mail/badges.txt`:

        {% extends "mail/layout.txt" %}
        {% block subject %}{{ _("Your new badge") }}{% endblock %}
        {% block text %}
        {{ _("You have the badge %(name)s.", name=letter.name) }}
        {% endblock %}

    `enqueue` names the kind of the email, here "badges", and its data. A process that sends emails
    calls the function of that kind in `Feature.composers`.

    Example:
        class BadgeLetter(Letter):
            template = "mail/badges.txt"
            name: str

            def why(self, site: SiteLabel, address: str) -> Message:
                names = {"site": site.name, "email": address}
                return _("%(site)s sent this email to %(email)s about a badge there.", **names)

        def compose(mail: Mail, settings: Settings, now: float) -> Addressed | None:
            if mail.user is None or not mail.user.is_active:
                return None
            letter = BadgeLetter(name=json.loads(mail.data)["name"])
            return Addressed(letter, mail.user.email, mail.user_id, mail.user.language)

        def give(site: Site, user: User) -> None:
            with database.atomic():
                Badge.create(user=user, name="early")
                enqueue(site.outbox, "badges", user=user, data={"name": "early"})

        feature = Feature(
            name="badges",
            folder=Path("badges"),
            composers=lambda factors: {"badges": compose},
            letter_samples=(BadgeLetter(name="early"),),
        )
    """

    @property
    @abstractmethod
    def template(self) -> str:
        """The name of the template's file."""

    @property
    def secret(self) -> str:
        """The one-time secret in its link; empty for none."""
        return ""

    def actions(self, site: SiteLabel) -> Mapping[str, Message]:
        """Return what its links do, by URL, in the words of a button."""
        return {site.url: go_to(site.name)}

    def why(self, site: SiteLabel, address: str) -> Message:
        """Return the sentence at its end: who sends it to this address, and why."""
        return _(
            "%(site)s sent this email to %(email)s because someone asked for it there.",
            site=site.name,
            email=address,
        )


class LinkLetter(Letter):
    """A letter with a link that works once.

    Example:
        class OfferLetter(LinkLetter):
            template = "mail/badges_offer.txt"
            action = _("Take the badge")
    """

    link: str
    minutes: int

    @property
    @abstractmethod
    def action(self) -> Message:
        """What the link does, in the words of a button."""

    @property
    def secret(self) -> str:
        """The one-time secret in the link."""
        return secret_in(self.link)

    def actions(self, site: SiteLabel) -> Mapping[str, Message]:
        """Return what the links do, by URL, in the words of a button."""
        return {**super().actions(site), self.link: self.action}


class Addressed(NamedTuple):
    """A letter and where it goes.

    Example:
        def addressed(letter: Letter, user: User) -> Addressed:
            return Addressed(letter, user.email, user.id, user.language)
    """

    letter: Letter
    address: str  # stored for an account, or the one that a link is to prove
    user_id: int | None  # for events
    language: str = ""  # empty: the site's default


class Letters:
    """Makes messages. A wrong template is a ConfigurationError, which names the file."""

    def __init__(self, settings: Settings) -> None:
        features = settings.FEATURES
        self._templates = Templates(
            settings.TEMPLATES, template_folders(features), autoescape=False
        )
        self._languages = Languages(
            settings.LANGUAGES, settings.TRANSLATIONS, catalogue_folders(features)
        )
        self._name, self._sender = parse_sender(settings.MAIL_FROM or "") or ("", "")
        url = (settings.PUBLIC_URL or "").rstrip("/")
        name = settings.SITE_NAME or url.partition("://")[2]
        name = " ".join(name.split())
        support = Support.of(settings)
        self._html = HtmlLetters(settings, name, support)
        self._site = SiteLabel(name, url, settings.USERNAMES, settings.PASSWORD_LOGIN, *support)

    def message(self, addressed: Addressed) -> EmailMessage:
        """Return the message, as plain text and as HTML (RFC 2046 section 5.1.4).

        Raises:
            DeliveryError: The address could add a header.
        """
        from email.headerregistry import Address  # here, because it makes every start slower

        letter = addressed.letter
        language = self._languages.find(addressed.language) or self._languages.default
        frame = self._frame(addressed, language)
        text = self._templates.render(
            letter.template, language, letter=letter, site=self._site, why=frame.foot
        )
        subject, _empty, body = text.partition("\n\n")
        message = EmailMessage()
        message["Subject"] = " ".join(subject.replace(_ENCODED_WORD, "= ?").split())
        message["From"] = Address(self._name, addr_spec=self._sender)
        if _ENCODED_WORD in addressed.address:  # of an account from before they were refused
            raise DeliveryError("the address has an encoded word", is_final=True)
        local, _at, domain = addressed.address.rpartition("@")
        message["To"] = Address(username=local, domain=_ascii_domain(domain))
        message["Date"] = datetime.now(UTC)
        # Not make_msgid: it draws from the application's own sequence of random numbers.
        message["Message-ID"] = f"<{uuid4()}@{self._sender.rpartition('@')[2]}>"
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no "out of office" in reply
        message.set_content(body, cte=_encoding(body))
        html = self._html.render(str(message["Subject"]), body, language, frame)
        message.add_alternative(html, subtype="html", cte=_encoding(html))
        message.set_boundary(uuid4().hex)  # for the same reason
        message["Content-Language"] = language.name  # last: new content removes it
        return message

    def preview(self, sample: Letter, mount: str) -> EmailMessage:
        """Return the message of an example, with links to this site."""
        root = f"{self._site.url}{quote(mount)}"
        links = {
            name: value.replace(SAMPLE_ROOT, root, 1)
            for name, value in vars(sample).items()
            if isinstance(value, str) and value.startswith(SAMPLE_ROOT)
        }
        letter = sample.replaced(**links)
        self.check(letter)
        return self.message(Addressed(letter, "ada@example.org", None))

    def check(self, letter: Letter, feature: str = "") -> None:
        """Render an example, to find a mistake in its template at the start.

        Args:
            feature: The feature of others that has the email.
        """
        shown, link = letter, ""
        if isinstance(letter, LinkLetter):
            link = f"{letter.link}-shown"  # a template cannot have it by chance
            shown = letter.replaced(link=link)
        language = self._languages.default
        frame = self._frame(Addressed(shown, "ada@example.org", None), language)
        text = self._templates.check(
            letter.template, language, feature, letter=shown, site=self._site, why=frame.foot
        )
        problem = _problem(text, link)
        if problem is not None:
            raise self._templates.mistake(letter.template, f": {problem}")
        self._html.check("Subject", text.partition("\n\n")[2], language, frame)
        try:
            self.message(Addressed(letter, "ada@example.org", None))
        except (ValueError, MessageError, DeliveryError) as error:
            message = f"MAIL_FROM or SITE_NAME cannot be in a header: {type(error).__name__}"
            raise ConfigurationError(message) from None

    def _frame(self, addressed: Addressed, language: Language) -> Frame:
        letter, site = addressed.letter, self._site
        why = letter.why(site, _unlinked_address(addressed.address))
        return Frame(letter.actions(site), language.say(why))


def plain_text_of(message: EmailMessage) -> str:
    """Return the plain text of a message."""
    part = message.get_body(("plain",))
    return "" if part is None else str(part.get_content())


def secret_in(link: str) -> str:
    """Return the one-time secret in a link."""
    return link.partition("?token=")[2]


def unlinked(name: str) -> str:
    """Return a username as an email can show it; empty if it could be read as a link.

    Anyone can choose a name, and mail software makes a link of `evil.example` without a scheme.
    Compatibility forms count, such as the full-width solidus.
    """
    return "" if _LINK_CHARACTERS & set(key(name)) else name


def _unlinked_address(address: str) -> str:
    """Return an address, or a part of it if mail software could make a link to a page of it.

    Many mailboxes get what is sent to `ada+ANYTHING@example.org`, and anyone can type an address.
    """
    return email_in_part(address) if _PATH_CHARACTERS & set(address) else address


def _problem(text: str, link: str) -> str | None:
    """Return the problem of an example's text, which must show a link, or None."""
    for number, line in enumerate(text.split("\n"), 1):
        for each in line:
            if each == "\ufeff":
                return f"line {number} has a byte-order mark: save the file as UTF-8 without it"
            if category(each) == "Cc" and each != "\t":
                return f"line {number} has the control character U+{ord(each):04X}"
    subject, empty, body = text.partition("\n\n")
    if not (subject.strip() and empty and body.strip()) or len(subject.splitlines()) > 1:
        return "the first line must be the subject, the second empty, and the others the text"
    if link not in body:
        return "the text must show letter.link as it is"
    return None


def _encoding(body: str) -> Literal["7bit", "quoted-printable"]:
    """Return the encoding that keeps links in one piece where the text allows (RFC 2045).

    Not every server passes `8bit` on, and base64 is not readable.
    """
    longest = max(map(len, body.encode().splitlines()), default=0)
    is_plain = body.isascii() and longest <= _MAX_LINE
    return "7bit" if is_plain else "quoted-printable"


def _ascii_domain(domain: str) -> str:
    """Return an international domain in ASCII, unless that could be another domain.

    Python's codec (RFC 3490) turns some letters into others, which have been domains of their own
    since RFC 5891: ß into ss.
    """
    try:
        encoded = domain.encode("idna")
        is_same = encoded.decode("idna") == domain.lower()
    except UnicodeError:
        return domain
    return encoded.decode() if is_same else domain
