"""An S3 server on loopback (moto) that asks no signature which service is meant: `python tests/ledgers/s3_server.py`.

moto's own command splits the Authorization header at slashes to find the service. A signature of version 2, as jclouds
sends it, is base64: one in some 700 has just so many slashes, and the request fails with status 500.
"""

from __future__ import annotations

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

if __name__ == "__main__":
    run_simple("127.0.0.1", 0, create_backend_app("s3"), threaded=True, request_handler=MotoRequestHandler)
