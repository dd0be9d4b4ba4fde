"""From what the tables say to a plan. Pure: the same facts make the same plan."""
