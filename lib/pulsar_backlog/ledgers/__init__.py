"""Where ledgers lie: list them, open them, cut them into scan units, walk a unit into batches of entries."""
