"""How a job runs: its context, claims on folders, the record of the run, and how a command ends."""
