"""GET /auth/admin/organisations: all organisations, for the staff."""

import re
from collections.abc import Sequence
from typing import Any
from wsgiref.types import WSGIEnvironment

import peewee

from wsgiauth import extend
from wsgiauth.extend import StaffSection, _

from .tables import Member, Organisation

SECTION = StaffSection("organisations", _("Organisations"), "users")
PAGE = 50  # organisations

Listed = dict[str, object]


def list_organisations(after: int = 0, limit: int = PAGE) -> list[Listed]:
    """Return organisations, ready for JSON, in the order of their foundation: those after an id."""
    own = (Organisation.id, Organisation.slug, Organisation.name, Organisation.founded_at)
    size = peewee.fn.COUNT(Member.id).alias("members")
    rows: Any = Organisation.select(*own, size).join(Member, peewee.JOIN.LEFT_OUTER)
    rows = rows.where(Organisation.id > after).group_by(*own).order_by(Organisation.id)
    return [
        {**each, "founded_at": extend.utc_text(extend.from_timestamp(each["founded_at"]))}
        for each in rows.limit(limit).dicts()
    ]


class OrganisationsPanelPage(extend.PanelPage):
    """A page of the list."""

    template = "admin/organisations.html"
    organisations: Sequence[Listed]
    next_url: str  # the next page; empty if there is none


class OrganisationsPanel(extend.PanelEndpoint):
    """Lists the organisations."""

    def get(self, environ: WSGIEnvironment, site: extend.Site) -> extend.Response:
        """Answer with the list as a page, or as JSON."""
        member = extend.require_staff(environ, site).user
        sent = extend.query_field(environ, "after")
        listed = list_organisations(int(sent) if re.fullmatch("[0-9]{1,18}", sent) else 0, PAGE + 1)
        shown, next_url = listed[:PAGE], ""
        if len(listed) > PAGE:
            next_url = f"{extend.panel_url(environ)}/organisations?after={shown[-1]['id']}"
        if not extend.prefers_html(environ):
            return extend.json_response({"organisations": shown, "next": next_url or None})
        frame = extend.frame_of(environ, member, SECTION.name)
        page = OrganisationsPanelPage(frame=frame, organisations=shown, next_url=next_url)
        return site.pages.render(environ, page)
