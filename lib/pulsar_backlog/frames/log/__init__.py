"""A topic's log as a whole: its order, its ends, its producers, its transactions."""
