"""Templates by their ids: asked for once, and kept, for an id names a content."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

from services.console.rest.documents import TemplateAnswer
from services.console.rest.services import Rest, RestError, path_of

MOST_KEPT = 5000
AT_ONCE = 100


class KnownTemplates:
    """The templates that one process has heard of."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, TemplateAnswer] = OrderedDict()
        self._missing: dict[str, None] = {}  # of single events, which nobody registers

    def note(self, template: TemplateAnswer) -> None:
        """Keep `template`; the longest unused give way."""
        self._kept[template.id] = template
        self._kept.move_to_end(template.id)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def known(self, id_: str) -> TemplateAnswer | None:
        """Return the template if it is known already."""
        return self._kept.get(id_)

    async def find(self, rest: Rest, ids: Iterable[str]) -> dict[str, TemplateAnswer]:
        """Return those that are known or registered; one that no sensor has any more may be missing."""
        wanted = set(ids)
        unknown = [id_ for id_ in sorted(wanted) if id_ not in self._kept and id_ not in self._missing][:AT_ONCE]
        answers = await asyncio.gather(*(self._ask(rest, id_) for id_ in unknown))
        for id_, found in zip(unknown, answers, strict=True):
            if found is None:
                self._missing[id_] = None
            elif isinstance(found, TemplateAnswer):
                self.note(found)
        while len(self._missing) > self._most:
            del self._missing[next(iter(self._missing))]
        return {id_: self._kept[id_] for id_ in wanted if id_ in self._kept}

    @staticmethod
    async def _ask(rest: Rest, id_: str) -> TemplateAnswer | RestError | None:
        """Return the template; None where nobody has registered it, and the error where that is not known."""
        try:
            return await rest.get(TemplateAnswer, "ingest", path_of("v1", "templates", id_))
        except RestError as error:
            return None if error.status == 404 else error
