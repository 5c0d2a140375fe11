"""What a command printed, cut into errors one by one; it opens no store."""
