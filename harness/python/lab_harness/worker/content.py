"""What a buffer must hold, and how a change of it is found, described and undone."""

from .private import BUILTINS as __builtins__

COMPARED_AT_ONCE = 1 << 20


class Open:
    """Unknown content: a launch got the buffer, or the judge wrote to it and did not seal it."""

    is_known = False

    def difference(self, device, address, length, digests):
        """Returns nothing: any content is right."""
        return None


class Pattern:
    """A repeated 32-bit pattern."""

    is_known = True

    def __init__(self, pattern):
        self.pattern = pattern

    def difference(self, device, address, length, digests):
        """Returns the offset of the first byte that differs; None if none does."""
        for offset, part in _pattern_parts(length, self.pattern):
            at = device.first_difference(address + offset, part)
            if at is not None:
                return offset + at
        return None

    def restore(self, device, address, length):
        """Writes the content again."""
        for offset, part in _pattern_parts(length, self.pattern):
            device.upload(address + offset, part)

    def breach(self, name, at, is_late):
        """The breach that a change is, as the judge's enum is written. `is_late`: no launch was given the buffer, or another one, since
        its content is known."""
        return {"StrayStore": {"buffer": name, "offset": at}}


class Sealed:
    """An input."""

    is_known = True

    def __init__(self, right):
        self.right = right

    def difference(self, device, address, length, digests):
        """As Pattern.difference."""
        return device.first_difference(address, self.right) if length else None

    def restore(self, device, address, length):
        """Writes the content again."""
        device.upload(address, self.right)

    def breach(self, name, at, is_late):
        """As Pattern.breach."""
        return {"InputChanged": {"buffer": name, "offset": at}}


class Results:
    """What earlier launches left. `right` is a copy, or None on a device that computes digests."""

    is_known = True

    def __init__(self, right):
        self.right = right

    def difference(self, device, address, length, digests):
        """As Pattern.difference. -1 if only digests differ."""
        if self.right is None:
            return -1 if digests else None
        return device.first_difference(address, self.right) if length else None

    def restore(self, device, address, length):
        """Leaves the memory as it is: the new content is known from here on."""

    def breach(self, name, at, is_late):
        """As Pattern.breach."""
        return {"LateStore" if is_late else "StrayStore": {"buffer": name, "offset": None if at < 0 else at}}


def _pattern_parts(length, pattern):
    """Yields offset and bytes of a repeated pattern, in parts."""
    part = pattern.to_bytes(4, "little") * (min(length, COMPARED_AT_ONCE) // 4 + 1)
    for offset in range(0, length, COMPARED_AT_ONCE):
        yield offset, part[:min(length - offset, COMPARED_AT_ONCE)]
