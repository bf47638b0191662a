"""HTTP requests and responses (RFC 9110)."""
