"""A topic made again of what is stored of it: its entries, published into a new topic as they are."""
