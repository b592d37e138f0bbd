"""All faults there are."""

from trials.chaos.faults.changes import CHANGES
from trials.chaos.faults.clocks import HOST_CLOCK
from trials.chaos.faults.damage import DAMAGE
from trials.chaos.faults.fault import Fault
from trials.chaos.faults.inputs import GATEWAY_CLOCKS, POISON
from trials.chaos.faults.processes import HUNG, KILLED
from trials.chaos.faults.surroundings import FULL_DISKS, PARTITIONS

FAULTS: list[Fault] = [
    *(*KILLED, *HUNG),
    *(*FULL_DISKS, *PARTITIONS),
    *(*POISON, *GATEWAY_CLOCKS, *HOST_CLOCK),
    *(*CHANGES, *DAMAGE),
]
