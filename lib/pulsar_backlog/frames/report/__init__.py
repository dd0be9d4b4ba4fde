"""Tables in, the small rows of reports, summaries and answers out."""
