"""Which pages there are, in the order of the navigation; a new page adds its line here."""

from services.console.pages.health.page import HEALTH
from services.console.pages.history.page import HISTORY
from services.console.pages.now.page import NOW
from services.console.pages.queries.page import QUERIES
from services.console.pages.sensors.page import SENSORS
from services.console.pages.shell import ConsolePage
from services.console.pages.told.page import ALERTS

PAGES: tuple[ConsolePage, ...] = (NOW, QUERIES, SENSORS, ALERTS, HISTORY, HEALTH)
