"""Model files of the user's own, on the engines that read them."""
