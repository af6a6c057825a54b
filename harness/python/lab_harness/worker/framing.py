"""Frames between the judge and the worker: a JSON header and raw bytes, both with their length in front.

    "LAB1" | header length, u32 little endian | body length, u64 little endian | header | body

The functions of other modules are bound here, before a kernel is loaded, so that a kernel that patches `json`, `struct`
or `socket` does not change what the worker reads and sends.
"""

import array
import json
import socket
import struct

from .private import BUILTINS as __builtins__

MAGIC = b"LAB1"
PREFIX = struct.Struct("<4sIQ")
HEADER_LIMIT = 16 << 20

_pack, _unpack = PREFIX.pack, PREFIX.unpack
_parse = json.JSONDecoder().scan_once
_quote = json.encoder.encode_basestring_ascii
_encode, _decode = str.encode, bytes.decode
_descriptors, _rights = array.array, (socket.SOL_SOCKET, socket.SCM_RIGHTS)
_space = socket.CMSG_SPACE(struct.calcsize("i"))


class Invalid(Exception):
    """What arrived is not a frame of this protocol."""


class Closed(Exception):
    """The judge closed the connection."""


def encode(value):
    """Returns a value as JSON. It may hold None, bools, ints, finite floats, strings, lists, tuples and dicts."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    kind = type(value)
    if kind is str:
        # A lone surrogate represents a byte that is not text. JSON must not hold it.
        return _quote(_decode(_encode(value, "utf-8", "backslashreplace"), "utf-8"))
    if kind is int or kind is float:
        return repr(value)
    if kind is list or kind is tuple:
        return "[" + ",".join([encode(item) for item in value]) + "]"
    if kind is dict:
        return "{" + ",".join([_quote(key) + ":" + encode(item) for key, item in value.items()]) + "}"
    raise Invalid(f"a value of type {kind.__name__} in a header")


class Connection:
    """The worker's end of the socket."""

    def __init__(self, connection):
        # Methods of `_socket.socket`, bound to this one: a patched class does not change them.
        self._receive_into, self._send_all = connection.recv_into, connection.sendall
        self._receive_message = connection.recvmsg
        self._socket = connection

    def receive(self):
        """Waits for a frame. Returns its header and its body (a bytearray). Raises Closed at the end."""
        magic, header_length, body_length = _unpack(self._read(PREFIX.size))
        if magic != MAGIC:
            raise Invalid(f"a frame that begins with {bytes(magic)!r}")
        if header_length > HEADER_LIMIT:
            raise Invalid(f"a header of {header_length} bytes")
        header = self._read(header_length).decode("utf-8")
        body = self._read(body_length)
        try:
            value, _ = _parse(header, 0)
        except (ValueError, StopIteration) as error:
            raise Invalid(f"header: {error}") from None
        return value, body

    def receive_descriptor(self):
        """The file descriptor that follows a frame, beside one byte. The caller closes it."""
        _, ancillary, _, _ = self._receive_message(1, _space)
        for level, kind, content in ancillary:
            if (level, kind) == _rights:
                return _descriptors("i", content)[0]
        raise Invalid("no file descriptor came")

    def send(self, header, body=b""):
        """Sends one frame."""
        text = encode(header).encode("ascii")
        if len(text) > HEADER_LIMIT:
            raise Invalid(f"a header of {len(text)} bytes is over the limit")
        try:
            self._send_all(_pack(MAGIC, len(text), len(body)) + text)
            if len(body):
                self._send_all(body)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None

    def _read(self, length):
        content = bytearray(length)
        view, at = memoryview(content), 0
        while at < length:
            try:
                count = self._receive_into(view[at:])
            except ConnectionResetError:
                count = 0
            if count == 0:
                raise Closed
            at += count
        return content
