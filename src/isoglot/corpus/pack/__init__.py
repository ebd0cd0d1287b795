"""Streams packed into blocks."""
