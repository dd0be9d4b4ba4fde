"""Units in, rows of `entries` and `rejects` out, and the findings about them."""
