"""The live stream: matches and episodes told as soon as they are stored."""
