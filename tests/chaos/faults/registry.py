"""All faults there are."""

from tests.chaos.faults.changes import CHANGES
from tests.chaos.faults.clocks import HOST_CLOCK
from tests.chaos.faults.damage import DAMAGE
from tests.chaos.faults.fault import Fault
from tests.chaos.faults.inputs import GATEWAY_CLOCKS, POISON
from tests.chaos.faults.processes import HUNG, KILLED
from tests.chaos.faults.surroundings import FULL_DISKS, PARTITIONS

FAULTS: list[Fault] = [
    *(*KILLED, *HUNG),
    *(*FULL_DISKS, *PARTITIONS),
    *(*POISON, *GATEWAY_CLOCKS, *HOST_CLOCK),
    *(*CHANGES, *DAMAGE),
]
