"""What a shard hears of its sensors: when, how often, how late, how their templates fit. No answer depends on it."""
