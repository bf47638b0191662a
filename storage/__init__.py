"""The bookmarks on the disk: one JSON file each, plus tombstones; knows no HTTP."""
