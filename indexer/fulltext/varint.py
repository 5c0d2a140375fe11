"""SQLite's numbers of variable length: seven bits a byte, the highest says that more follow."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of up to 9 bytes, and the place behind it. Raises IndexError where it does not end."""
    value = 0
    for _ in range(8):
        byte = data[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | data[at], at + 1
