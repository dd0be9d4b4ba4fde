"""Plan, apply, verify: the only room that changes anything on a broker."""
