"""Objects of streaming offload (PIP-76): one holds segments of several ledgers, and several may hold one ledger."""
