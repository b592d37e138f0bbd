"""A webhook for Coincide's alerts: it verifies who sent one, drops what it has seen, and prints what happened."""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

signer, seen = Webhook(os.environ["COINCIDE_OPS_SECRET"]), set[str]()


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1_000_000))
        try:
            event = signer.verify(body, dict(self.headers))
        except WebhookVerificationError:
            self.send_error(401, "this was not signed with our secret")
            return
        if event["id"] not in seen:  # it may be sent again, after an answer that got lost
            seen.add(event["id"])
            print(event["type"], event["data"]["severity"], event["data"]["title"], flush=True)
        self.send_response(204)
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Hook).serve_forever()
