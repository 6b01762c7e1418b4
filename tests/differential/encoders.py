# SPDX-License-Identifier: GPL-2.0-or-later
"""Content encodings for the differential tests. br and zstd use the libraries of this machine if they are installed,
otherwise uncompressed blocks."""
import ctypes
import ctypes.util
import functools
import struct
import zlib


@functools.lru_cache(None)
def library(name):
    path = ctypes.util.find_library(name)
    return ctypes.CDLL(path) if path else None


def brotli(data, window=22):
    encoder = library('brotlienc')
    if encoder:
        size = ctypes.c_size_t(len(data) * 2 + 1024)
        out = ctypes.create_string_buffer(size.value)
        if encoder.BrotliEncoderCompress(5, window, 0, ctypes.c_size_t(len(data)), data, ctypes.byref(size), out):
            return out.raw[:size.value]
    # WBITS 16, an uncompressed meta-block of at most 64 KiB, and an empty last meta-block (RFC 7932).
    data = data[:65535]
    bits = 0 | 0 << 1 | 0 << 2 | (len(data) - 1) << 4 | 1 << 20
    return bits.to_bytes(3, 'little') + data + b'\x03'


def zstd(data, level=3):
    encoder = library('zstd')
    if encoder:
        encoder.ZSTD_compress.restype = ctypes.c_size_t
        out = ctypes.create_string_buffer(len(data) * 2 + 1024)
        size = encoder.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), level)
        if size <= len(out):
            return out.raw[:size]
    data = data[:65535]
    return struct.pack('<IBQ', 0xfd2fb528, 0xe0, len(data)) + (len(data) << 3 | 1).to_bytes(3, 'little') + data


def deflate(data, level=6):
    encoder = zlib.compressobj(level, zlib.DEFLATED, -15)
    return encoder.compress(data) + encoder.flush()


def member(data, flags=0, name=b'', extra=b'', comment=b'', level=6, method=8, checksum=None):
    """Returns a gzip member with the given header fields."""
    head = b'\x1f\x8b' + bytes([method, flags]) + b'\0\0\0\0\0\xff'
    if flags & 4:
        head += struct.pack('<H', len(extra)) + extra
    if flags & 8:
        head += name + b'\0'
    if flags & 16:
        head += comment + b'\0'
    if flags & 2:
        head += struct.pack('<H', zlib.crc32(head) & 0xffff)
    return head + deflate(data, level) + struct.pack('<II', zlib.crc32(data) if checksum is None else checksum,
                                                     len(data) & 0xffffffff)
