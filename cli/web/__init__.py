"""The local page: what a person sees of a store, in a browser on the same machine."""
