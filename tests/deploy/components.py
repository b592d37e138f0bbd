"""The components that listen, each with the model of its settings."""

from services.alerting.settings import AlertingSettings
from services.common.engine.fusion_settings import FusionSettings
from services.common.settings import ListeningSettings
from services.console.settings import ConsoleSettings
from services.ingest.settings import IngestSettings
from spark_jobs.settings import ArchiveSettings, HistorySettings

MODELS: dict[str, type[ListeningSettings]] = {
    "alerting": AlertingSettings,
    "fusion": FusionSettings,
    "ingest": IngestSettings,
    "console": ConsoleSettings,
    "archive": ArchiveSettings,
    "history": HistorySettings,
}
