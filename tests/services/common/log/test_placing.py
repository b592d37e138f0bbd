from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2

from services.common.log.placing import partition_of


@given(key=st.binary(max_size=40), partitions=st.integers(1, 1024))
def test_a_key_stands_where_kafkas_clients_put_it(key: bytes, partitions: int) -> None:
    assert partition_of(key, partitions) == (murmur2(key) & 0x7FFFFFFF) % partitions
