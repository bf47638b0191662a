"""The pages. `frame.e` escapes every text."""

MEDIA_TYPE = "text/html; charset=utf-8"
