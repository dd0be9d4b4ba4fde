"""What subscriptions have, and what they are stuck on: sightings of cursors, acknowledged runs, stalls. No Spark."""
