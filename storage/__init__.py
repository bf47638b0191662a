"""The data folder: bookmarks, their files, the index of them, and transactions."""
