"""What entries show together, made where they are decoded: small values that add up. No object per entry."""
