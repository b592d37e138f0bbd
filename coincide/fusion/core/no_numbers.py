"""Letters about detections whose value is no number, where a query needs one."""

from collections.abc import Iterator

from msgspec import Raw, json

from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.rows.attributes import attributes_of
from coincide.fusion.rows.elements import refused_row
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.row_codes import RowCodes
from coincide.wire.detection_record import Stamp
from coincide.wire.fields import NULL, shown
from coincide.wire.results.dead_letter import DeadLetter


def no_number_letters(no_numbers: NoNumbers, new: EventColumns, codes: RowCodes) -> Iterator[DeadLetter]:
    """Yield a letter for each of the `new` rows and attributes that are refused; the row itself stays accepted."""
    if not len(new):
        return
    begin = int(new.seq[0])
    for seq, name in sorted(each for each in no_numbers if each[0] >= begin):
        row = seq - begin
        written = attributes_of(new.attributes[row]).get(name.removeprefix("attributes."), NULL)
        detail = f"{name} is {shown(written)}: a query needs a number"
        sensor, stream = codes.areas.sensor_of(new.sensor[row]).name, codes.streams.names[new.stream[row]]
        stamp = Stamp(sensor=sensor, stream=stream, template=codes.templates.histogram(new.template[row]).id)
        shown_row = Raw(json.encode(new.ids[row])), Raw(b"%d" % new.detected_at_us[row]), Raw(new.attributes[row])
        area, received_at_us = codes.areas.area_of(new.area[row]).name, int(new.received_at_us[row])
        yield refused_row("no_number", detail, area, received_at_us, stamp, shown_row)
