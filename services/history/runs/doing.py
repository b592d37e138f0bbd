"""Doing what is asked: a run that answers a query, or one that learns."""

from services.common.settings import Streams
from services.history.replaying.past import Past
from services.history.replaying.request import AnyRequest, LearningRequest
from services.history.replaying.run_folder import Reporter
from services.history.runs.learning_run import LearningRun, Proposed
from services.history.runs.run import Run


def do_run(request: AnyRequest, past: Past, streams: Streams, reporter: Reporter, proposed: Proposed) -> None:
    """Do it, and tell the reporter how it ended; RunError if it cannot be done.

    `proposed` takes the templates that a run which learns proposes.
    """
    if isinstance(request, LearningRequest):
        LearningRun(request, past, streams, reporter, proposed).execute()
    else:
        Run(request, past, streams, reporter).execute()
