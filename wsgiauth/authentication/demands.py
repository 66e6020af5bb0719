"""Admission: what a site demands of a session beside a valid login, such as a second factor.

A session that lacks something is anonymous for the application, guards and new credentials.
Whoever looks a session up asks the chain of demands, and nothing else decides.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from wsgiref.types import WSGIEnvironment

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.events.actors import is_outage, report
from wsgiauth.exceptions import ApplicationError, ConfigurationError, UnmetDemandError
from wsgiauth.parts import KERNEL
from wsgiauth.storage.models import Model

if TYPE_CHECKING:
    from wsgiauth.openapi.answers import Problem


class Demand(ABC):
    """Something that every session of a site must have, or its user must have done.

    It is asked on the way of every request, so that it holds from the next request on, also for
    sessions that are older than the demand. API keys are not concerned.

    A session that does not meet it reaches the paths in `UnmetDemandError.reachable`, and what
    needs no login: `/logout` is always open, and so is `/language`, which stores the choice for the
    user only if it is `reachable`.

    The template of its page extends `layout.html`, because the links of `member.html` lead back to
    it. The page says why it is shown, as a browser does not see the detail of `refusal`. Its form
    has the hidden field `next` with `page.next`, and after success leads a browser to
    `destination_after_login(environ, site, submission.destination)`. A second form logs out: it has
    a button, the field `account`, and the action `UrlBelow("logout")`. `features/terms` is an
    example. If users need help of the staff to meet the demand, `is_met` must admit the staff.

    Attributes:
        error: The value of `environ["wsgiauth.error"]` for the application.
        keyword: The argument of `wsgiauth.testing.logged_in` that leaves it unmet by False.
        page: The path of the page, below the mount, on which users meet it. As a `next`, it is
            replaced by the home page, so that no login and no such page leads to it again.
        problem: The error of `refusal` in the OpenAPI document of a site that has the demand; None:
            the document always has it.
        is_met_by_login: Whether another login can meet it, so that the login form is shown to such
            a session.
        concerns_derived: Whether it also ends what an unmet session has passed on: the grants of
            apps and service tokens.
        open_paths: Paths of the application that its page links, SCRIPT_NAME and PATH_INFO as one,
            decoded as in WSGI: the gate of `public` and `require` lets everyone read exactly these,
            with any query.

    Example:
        class BadgeDemand(Demand):
            error = "badges_required"
            keyword = "badges"
            page = "/badges"
            problem = Problem(
                "BadgesRequired", 403, {"badges_required": "The user must first take a badge."}
            )

            def columns(self, proof: type[Model]) -> Sequence[peewee.Node]:
                of_user = Badge.select(peewee.fn.COUNT(Badge.id)).where(Badge.user == User.id)
                return (of_user,)

            def is_met(self, user: User, values: Sequence[object]) -> bool:
                return bool(values[0])

            def refusal(self, user: User, environ: WSGIEnvironment) -> UnmetDemandError:
                return UnmetDemandError(
                    HTTPStatus.FORBIDDEN,
                    self.error,
                    _("Take a badge, then try again."),
                    page=self.page,
                    reachable=(self.page, "/language"),
                )

            def arrange(self, user: User, session: Session | None, *, is_met: bool) -> None:
                if is_met:
                    insert_new(Badge, user=user.id, name="first")
                else:
                    Badge.delete().where(Badge.user == user.id).execute()
    """

    error: ClassVar[str]
    keyword: ClassVar[str]
    concerns_derived: ClassVar[bool] = False
    is_met_by_login: ClassVar[bool] = False
    problem: ClassVar["Problem | None"] = None
    open_paths: frozenset[str] = frozenset()
    page: ClassVar[str] = ""

    def columns(self, proof: type[Model]) -> Sequence[peewee.Node]:
        """Return what `is_met` needs, as columns of the one SELECT of a request.

        It joins `User` with `proof`. So a column is one of them, or a subquery for `User.id`. The
        values in it are those of the start: compare times in `is_met`.

        Args:
            proof: The table of the credential, which has the column `methods`: `Session`, or the
                grants of apps.
        """
        return ()

    @abstractmethod
    def is_met(self, user: User, values: Sequence[Any]) -> bool:
        """Return whether a session meets the demand; if it raises, the request gets 500.

        Args:
            user: The session's user.
            values: Those of `columns`.
        """

    @abstractmethod
    def refusal(self, user: User, environ: WSGIEnvironment) -> UnmetDemandError:
        """Return the error for a request by a session that does not meet the demand."""

    @abstractmethod
    def arrange(self, user: User, session: Session | None, *, is_met: bool) -> None:
        """Let a user or a session meet the demand, or not, for `wsgiauth.testing`.

        Args:
            user: The user, as they are created, or log in.
            session: The session that has just begun; None: the user has just been created.
        """


def are_paths(value: object) -> bool:
    """Return whether a value is a collection of paths; each character of a string is a string."""
    return isinstance(value, set | frozenset | tuple | list) and all(map(_is_path, value))


def _is_path(value: object) -> bool:
    return isinstance(value, str) and value.startswith("/")


class DemandError(ApplicationError):
    """A demand failed, so nothing knows whether a session meets it. The error is logged.

    Attributes:
        user: The user of the session.
        demand: The demand.
        session_id: The session; "" for the grant of an app, and for a session of which another
            service asks.
    """

    session_id: str = ""

    def __init__(self, user: User, demand: Demand) -> None:
        super().__init__(f"the demand {demand.error} failed")
        self.user, self.demand = user, demand


class Chain:
    """Demands in their order, for one kind of credentials.

    Args:
        admission: The demands of the site.
        demands: Those of them that concern the credentials.
        proof: See `Demand.columns`.
        after: The number of other columns before those of the demands in a row.

    Attributes:
        columns: Of all demands.
        sql: That of each column, which demands that count as equal can have different.
        parameters: The values in `columns`, in the order of the SQL.
    """

    def __init__(
        self, admission: "Admission", demands: Iterable[Demand], proof: Any, after: int
    ) -> None:
        self._admission = admission
        self.columns: list[peewee.Node] = []
        self._places: list[tuple[Demand, slice]] = []
        for each in demands:
            start = after + len(self.columns)
            self.columns += _checked_columns(each, proof)
            self._places.append((each, slice(start, after + len(self.columns))))
        self._width = after + len(self.columns)
        rendered = [peewee.Context().sql(each).query() for each in self.columns]
        self.sql: tuple[str, ...] = tuple(sql for sql, _values in rendered)
        self.parameters: list[Any] = [value for _sql, values in rendered for value in values]

    def unmet(self, user: User, row: Sequence[Any], further: int = 0) -> Demand | None:
        """Return the first demand that is not met; it alone decides what the session can reach.

        Args:
            further: The number of other columns after those of the demands in `row`.

        Raises:
            DemandError: A demand failed.
            peewee.DatabaseError: The database failed; see `actors.is_outage`.
        """
        for demand, place in self._places:
            try:
                if len(row) != self._width + further:  # of SQL that is several columns
                    raise TypeError("the values are not as many as the columns of the demands")
                answer = demand.is_met(user, row[place])
                if answer is True:
                    continue
                if answer is not False:  # such as a coroutine, which is true
                    raise TypeError(f"is_met returned {answer!r}")
            except Exception as error:
                if is_outage(error):
                    raise
                feature = self._admission.feature_of(demand)
                report("the demand %s of %s failed: 500", demand.error, feature)
                raise DemandError(user, demand) from error
            return demand
        return None


def _checked_columns(demand: Demand, proof: Any) -> list[peewee.Node]:
    """Return the columns of a demand. Peewee selects several columns for a model."""
    columns = [*demand.columns(proof)]
    for each in columns:
        if not isinstance(each, peewee.ColumnBase | peewee.SelectBase):
            raise ConfigurationError(
                f"The columns of the demand {demand.error} must be columns or subqueries;"
                f" {each!r} is neither."
            )
    return columns


@dataclass(frozen=True)
class Admission:
    """The demands of a site, in order: the second factor, then those of its features.

    Args:
        demands: The demands.
        features: The names of their features, by the `error` of the demand.

    Raises:
        ConfigurationError: Two demands have the same name, or the paths of one are no paths.
    """

    demands: tuple[Demand, ...] = ()
    features: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for each in self.demands:
            if not isinstance(each, Demand):  # such as a class, which has the same attributes
                raise ConfigurationError(f"{each!r} is no Demand.")
        for attribute in ("error", "keyword"):
            named = [getattr(each, attribute) for each in self.demands]
            for name in named:
                if named.count(name) > 1:
                    raise ConfigurationError(f"Two demands have the {attribute} {name}.")
        for each in self.demands:
            if not are_paths(each.open_paths):
                raise ConfigurationError(
                    f"The demand {each.error} must have a set of paths such as /terms as"
                    f" open_paths, not {each.open_paths!r}."
                )

    @cached_property
    def errors(self) -> frozenset[str]:
        """The values of `environ["wsgiauth.error"]` of sessions that lack something."""
        return frozenset(each.error for each in self.demands)

    @cached_property
    def open_paths(self) -> frozenset[str]:
        """The paths that everyone can read; see `Demand`."""
        return frozenset[str]().union(*(each.open_paths for each in self.demands))

    def feature_of(self, demand: Demand) -> str:
        """Return the name of the feature of a demand."""
        return self.features.get(demand.error, KERNEL)

    def chain(self, proof: Any, after: int = 0) -> Chain:
        """Return all demands, for a session; see `Chain`."""
        return Chain(self, self.demands, proof, after)

    def derived_chain(self, proof: Any, after: int = 0) -> Chain:
        """Return the demands that also concern what a session has passed on; see `Chain`."""
        concerned = [each for each in self.demands if each.concerns_derived]
        return Chain(self, concerned, proof, after)
