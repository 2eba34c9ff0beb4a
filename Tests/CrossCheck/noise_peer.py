"""One side of Noise_XXpsk3_25519_ChaChaPoly_BLAKE2b, by the PyPI package noiseprotocol.

usage: noise_peer.py initiator|responder PSK PROLOGUE      (hex)

Messages are lines of hex. A message read is answered by its payload, then, at the end, by the
handshake hash; last, one transport message each way.
"""
import os
import sys

from noise.connection import Keypair, NoiseConnection


def say(data):
    print(data.hex(), flush=True)


def hear():
    return bytes.fromhex(sys.stdin.readline().strip())


role, psk, prologue = sys.argv[1], bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])
noise = NoiseConnection.from_name(b"Noise_XXpsk3_25519_ChaChaPoly_BLAKE2b")
noise.set_as_initiator() if role == "initiator" else noise.set_as_responder()
noise.set_psks(psk)
noise.set_prologue(prologue)
noise.set_keypair_from_private_bytes(Keypair.STATIC, os.urandom(32))
noise.start_handshake()
for number in range(3):
    if (number % 2 == 0) == (role == "initiator"):
        say(bytes(noise.write_message(bytes([number | 0x80]) * 40)))
    else:
        say(bytes(noise.read_message(hear())))
say(noise.get_handshake_hash())
say(bytes(noise.decrypt(hear())))
say(bytes(noise.encrypt(b"and back")))
