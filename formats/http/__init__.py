"""HTTP messages: what requests say and what responses are made of (RFC 9110)."""
