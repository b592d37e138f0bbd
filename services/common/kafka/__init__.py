"""Kafka as Coincide uses it: the connection, declared once, and every client that is made of it.

`KafkaConnection` says where Kafka is and how one proves who one is. Producers, consumers and the admin client take it
(`clients`), and Spark does (`java_options`). `greeting` finds in a moment why Kafka will not have us.
"""
