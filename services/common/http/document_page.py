"""`/docs`: Swagger UI on the service's own OpenAPI document, from files on this machine.

The page that FastAPI brings loads scripts from elsewhere. `fastapi_offline` brings the same files in its wheel; nothing
else of it is used, because its page has a script inside, which a strict Content-Security-Policy forbids.
"""

from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response

DOCUMENT_PAGE = "/docs"
_FILES = ("swagger-ui-bundle.js", "swagger-ui.css", "favicon.png")
DOCUMENT_PAGE_PATHS = frozenset({DOCUMENT_PAGE, *(f"{DOCUMENT_PAGE}/{name}" for name in (*_FILES, "start.js"))})

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}: REST</title>
<link rel="icon" href="docs/favicon.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<form id="key" hidden style="font: 1rem sans-serif; margin: 2rem">
<label>This service asks for a key: <input type="password" placeholder="ck_..." autocomplete="off" size="60"></label>
<button>Show the document</button> <output></output>
</form>
<main id="document"></main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</html>
"""

# The key stays in the page: it is neither stored nor put into an address.
_START = """"use strict";
const form = document.getElementById("key");

async function show(key) {
  const answer = await fetch("openapi.json", key ? {headers: {Authorization: `Bearer ${key}`}} : {});
  if (!answer.ok) {
    form.hidden = false;
    form.querySelector("output").textContent = key ? (await answer.json()).detail : "";
    return;
  }
  form.hidden = true;
  const page = SwaggerUIBundle({
    spec: await answer.json(),
    dom_id: "#document",
    deepLinking: true,
    validatorUrl: null,
    onComplete: () => { if (key) page.preauthorizeApiKey("key", key); },
  });
}

form.addEventListener("submit", event => {
  event.preventDefault();
  show(form.querySelector("input").value.trim());
});
show("");
"""


def document_page_router(title: str) -> APIRouter:
    """Return the routes of the page and of what it loads."""
    router = APIRouter(include_in_schema=False)
    page = _PAGE.format(title=title)
    folder = Path(str(files("fastapi_offline"))) / "static"

    @router.get(DOCUMENT_PAGE)
    async def read_page() -> HTMLResponse:
        return HTMLResponse(page, headers=_HEADERS)

    @router.get(f"{DOCUMENT_PAGE}/start.js")
    async def read_start() -> Response:
        return Response(_START, media_type="text/javascript", headers=_HEADERS)

    for name in _FILES:
        _add_file(router, folder / name)
    return router


def _add_file(router: APIRouter, path: Path) -> None:
    @router.get(f"{DOCUMENT_PAGE}/{path.name}")
    async def read_file() -> FileResponse:
        return FileResponse(path, headers=_HEADERS)
