"""Tables in, the small rows that a repair is planned from out."""
