"""Which messages are exported, and the door to the rows of `messages`."""
