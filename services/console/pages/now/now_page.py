"""Now: what the sensors saw, and what of it happened together, on lanes over time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nicegui import context, ui

from services.common.clock import system_clock_us
from services.console.drawing.table_columns import drawn_sensors
from services.console.drawing.timeline import TimelineElement
from services.console.pages.now.change import TimelineChange
from services.console.pages.now.evidence.panel import Evidence
from services.console.pages.now.first_steps import show_first_steps
from services.console.pages.now.history_of_range import KeptThings, read_kept, read_recent
from services.console.pages.now.newest import NewestTable
from services.console.pages.now.story import Story
from services.console.pages.now.tools import NowTools
from services.console.pages.shell import ConsolePage, page_head
from services.console.pages.shown_range import ShownRange
from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer, SensorAnswer
from services.console.rest.live_feed import LiveReader
from services.console.rest.services import Parameters, RestError

TICK_S, STORY_EVERY_S = 0.4, 5.0
SENSORS_MOST = 1000


async def show_now(viewer: Viewer) -> None:
    """Fill the page."""
    sensors = await _read_sensors(viewer, "")
    queries = await viewer.rest.get(dict[str, Any], "alerting", "/v1/queries")
    view = NowView(viewer, sensors, sorted(each["id"] for each in queries["items"]))
    await view.draw()


async def _read_sensors(viewer: Viewer, area: str) -> PageAnswer[SensorAnswer]:
    """Return the sensors of an area, or of all, as many as have a lane from the beginning."""
    asked: Parameters = {"limit": SENSORS_MOST, "area": area or None}
    return await viewer.rest.get(PageAnswer[SensorAnswer], "ingest", "/v1/sensors", asked)


class NowView:
    """One open page: what it shows, what it has drawn, and what people do with it."""

    def __init__(self, viewer: Viewer, sensors: PageAnswer[SensorAnswer], queries: list[str]) -> None:
        self.viewer, self.sensors, self.queries = viewer, sensors.items, queries
        self.has_more_sensors = sensors.next_cursor is not None
        self.shown = ShownRange.of_address(viewer.request.query_params)
        self.kept = KeptThings(0, 0)
        self.reader: LiveReader | None = None
        self.is_paused = False
        self.has_seen_some = False
        self._is_loading = False

    async def draw(self) -> None:
        """Build the page; what is drawn comes once the browser is connected."""
        areas = sorted({each.area for each in self.sensors})
        self.head = page_head("Now")
        self.say_times()
        self.story = Story(self)
        self.tools = NowTools(self, areas)
        with ui.element("div").classes("now"):
            with ui.element("div").classes("now-main"):
                with ui.element("section").classes("now-picture card").props('aria-label="Timeline"'):
                    self.timeline = TimelineElement(
                        self._options(), on_range=self.on_range, on_pick=self.on_pick, on_follow=self.on_follow
                    )
                    self.tools.legend()
                self.newest = NewestTable(self)
            self.evidence = Evidence(self)
        self.steps = ui.element("section")
        ui.timer(0.01, self.begin, once=True)
        context.client.on_delete(self.leave)

    def _options(self) -> dict[str, Any]:
        return {
            "from": self.shown.from_us,
            "to": self.shown.to_us,
            "follows": self.shown.follows,
            "nowUs": system_clock_us(),
            "zone": "UTC" if self.viewer.clock == "utc" else "",
            "mostDetections": self.viewer.settings.drawn_detections_max,
            "mostMatches": self.viewer.settings.drawn_matches_max,
        }

    async def begin(self) -> None:
        """Draw what there is, and go on with what comes."""
        self.reader = self.viewer.feed.join()
        shown = self.shown
        self.timeline.show(area=shown.area, query=shown.query, sensor=shown.sensor, order=shown.order)
        self.timeline.show(surest=f"{shown.min_posterior:g}")
        self.timeline.merge({"sensors": drawn_sensors(self.sensors)})
        await self.load_lanes()
        await self.load()
        await self.story.load()
        if not self.story.is_empty and not self.has_seen_some:  # long ago, and nothing since
            self.has_seen_some = True
            self.draw_steps()
        if self.shown.chosen is not None:
            await self.show_evidence(*self.shown.chosen)
        ui.timer(TICK_S, self.tick)
        ui.timer(STORY_EVERY_S, self.story.refresh)

    def leave(self) -> None:
        """Follow no longer."""
        if self.reader is not None:
            self.viewer.feed.leave(self.reader)
            self.reader = None

    async def load(self) -> None:
        """Draw what the services keep of the range that is shown."""
        if self._is_loading:
            return
        self._is_loading = True
        try:
            self.kept = await read_kept(self.viewer, self.shown)
            recent = await read_recent(self.viewer)
        except RestError:
            return  # the banner says so; the next look tries again
        finally:
            self._is_loading = False
        await self.tell(TimelineChange.of_kept(self.kept, recent))
        self.tools.say_part(self.kept)
        self.newest.begin((*self.kept.episodes, *self.kept.matches))
        if recent.newest or not self.newest.is_empty:
            self.has_seen_some = True
        self.draw_steps()

    async def load_lanes(self) -> None:
        """Give the sensors of the chosen area their lanes, where not all have one."""
        if not self.has_more_sensors or not self.shown.area:
            return
        try:
            sensors = await _read_sensors(self.viewer, self.shown.area)
        except RestError:
            return  # the banner says so
        self.timeline.merge({"sensors": drawn_sensors(sensors.items)})

    async def tell(self, change: TimelineChange) -> None:
        """Have the timeline draw a change, with the templates that it needs."""
        await change.find_templates(self.viewer)
        self.timeline.merge(change.drawn())

    async def tick(self) -> None:
        """Draw what has come since, unless the page is paused."""
        if self.reader is None or self.is_paused:
            return
        if not self.kept.to_us:  # the services were away when the page was opened
            await self.load()
            await self.story.load()
        if events := self.reader.take():
            left_out, self.reader.left_out = self.reader.left_out, 0
            await self.take(TimelineChange.of_events(events, left_out))

    async def take(self, change: TimelineChange) -> None:
        """Show what the live stream told, everywhere on the page."""
        await self.tell(change)
        if not self.has_seen_some:
            self.has_seen_some = True
            self.draw_steps()
        gone = (*change.gone_matches, *change.gone_episodes)
        if change.episodes or change.matches or gone:
            self.newest.note((*change.episodes, *change.matches), gone)
            self.story.note(change.episodes, change.matches)
        if change.evidence:
            self.newest.take_evidence(change.evidence)
            await self.evidence.renew(change.evidence)

    def draw_steps(self) -> None:
        """Show the first steps as long as nothing was seen."""
        self.steps.clear()
        if not self.has_seen_some:
            with self.steps:
                show_first_steps(self.viewer, self.sensors)

    def say_times(self) -> None:
        """Have the heading say which times are shown."""
        self.head.say(self.shown.title(self.viewer.times))

    async def on_range(self, told: dict[str, Any]) -> None:
        """Take over the times that a person moved to."""
        self.shown = self.shown.moved(int(told["from"]), int(told["to"]))
        self.newest.refresh()
        self.say_times()
        self.put_address()
        reaches = self.shown.from_us, self.shown.to_us
        if not self.kept.covers(*reaches) or self.kept.is_part:
            await self.load()

    def on_follow(self, follows: bool) -> None:
        """Take over whether the page follows the present."""
        self.shown = replace(self.shown, follows=bool(follows))
        if follows:
            self.timeline.follow(True)
        self.tools.say_follow(self.shown.follows)
        self.say_times()
        self.story.refresh()
        self.newest.refresh()
        self.put_address()

    async def on_pick(self, told: dict[str, Any] | None) -> None:
        """Show the evidence of what was chosen."""
        if told is None:
            self.evidence.close()
        else:
            await self.show_evidence(str(told["kind"]), str(told["id"]), told)

    async def show_evidence(self, kind: str, id_: str, told: dict[str, Any] | None = None) -> None:
        """Show the evidence of a match, episode, alert or detection."""
        await self.evidence.show(kind, id_, told)

    def put_address(self) -> None:
        """Have the address lead to what is shown."""
        ui.navigate.history.replace(self.shown.address())


NOW = ConsolePage("/", "Now", show_now)
