"""What is removed from the store, by age or by name, and what keeps it from coming back."""
