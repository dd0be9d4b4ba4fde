"""State that a cluster keeps in ledgers beside the messages: decoded entry by entry, recognized, judged."""
