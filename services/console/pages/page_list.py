"""Which pages there are, in the order of the navigation; a new page adds its line here."""

from services.console.pages.health.health_page import HEALTH
from services.console.pages.history.history_page import HISTORY
from services.console.pages.now.now_page import NOW
from services.console.pages.queries.queries_page import QUERIES
from services.console.pages.sensors.sensors_page import SENSORS
from services.console.pages.shell import ConsolePage
from services.console.pages.told.told_page import ALERTS

PAGES: tuple[ConsolePage, ...] = (NOW, QUERIES, SENSORS, ALERTS, HISTORY, HEALTH)
