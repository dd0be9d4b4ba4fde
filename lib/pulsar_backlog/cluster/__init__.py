"""What a live cluster, or what was saved from one, says about its topics. Reads only."""
