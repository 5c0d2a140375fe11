"""What a command printed: its errors one by one, and the signature that each is known by."""
