"""A name server for one cluster.

names.py PORT answers SRV and A for db.cluster.test on 127.0.0.1:53.
"""

import socket
import struct
import sys

CLUSTER, HOST = b"_mongodb._tcp.db.cluster.test", b"node.cluster.test"


def name(text):
    return b"".join(bytes([len(part)]) + part for part in text.split(b".")) + b"\0"


def answer(question):
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]])
        at += 1 + question[at]
    asked, kind = b".".join(labels).lower(), struct.unpack(">H", question[at + 1 : at + 3])[0]
    data = {
        (CLUSTER, 33): struct.pack(">HHH", 0, 0, int(sys.argv[1])) + name(HOST),
        (HOST, 1): socket.inet_aton("127.0.0.1"),
    }.get((asked, kind))
    flags = 0x8180 if asked in (CLUSTER, HOST, CLUSTER[14:]) else 0x8183
    reply = question[:2] + struct.pack(">HHHHH", flags, 1, int(data is not None), 0, 0)
    reply += question[12 : at + 5]
    if data is not None:
        reply += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(data)) + data
    return reply


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    question, client = server.recvfrom(512)
    server.sendto(answer(question), client)
