"""Small result rows -> HTML, terminal text and JSON. No Spark, no files, no clock.

`model` what a report is made of; `verdict` the answer in words; `html` the self-contained page;
`summary` terminal text; `result` result.json and JSON lines; `explain` one entry, hex beside fields;
`acks` and `clients` what subscriptions and models of clients make of the log.
"""
