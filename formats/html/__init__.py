"""The pages for people. Every text goes through `frame.e`, which escapes it."""

MEDIA_TYPE = "text/html; charset=utf-8"
