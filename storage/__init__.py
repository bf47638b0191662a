"""The data folder and its index in memory."""
