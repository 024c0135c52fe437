"""A Hub on this machine: the few addresses that `huggingface_hub` asks, over files of a folder."""

import base64
import hashlib
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote, urlsplit

STORED_APART = (".parquet", ".safetensors")


class Hub:
    """Repositories by `datasets/owner/name` or `owner/name`; each commit is a dictionary of paths to bytes."""

    def __init__(self):
        self.commits = {}
        self.references = {}
        self.asked = []
        """Paths that were asked for, in order."""
        self.created = {}
        """What was asked for each repository that was made by request."""
        self.token = "hf_right"
        """The token that may write."""

    def push(self, repository, files, revision="main"):
        """Makes a commit of `files` the head of a branch, and gives its id."""
        commit = hashlib.sha1(f"{repository}{sorted(files.items())}{len(self.commits)}".encode()).hexdigest()
        self.commits[commit] = files
        self.references[repository, revision] = self.references[repository, commit] = commit
        return commit

    def answer(self, path):
        """Status, headers and body for a path."""
        self.asked.append(path)
        models = {repository for repository, _ in self.references}
        if path.startswith("/api/"):
            path = path.removeprefix("/api/").removeprefix("models/")
            tree = "/tree/" in path
            repository, _, revision = path.partition("/tree/" if tree else "/revision/")
            if repository not in models:
                return 404, {"X-Error-Code": "RepoNotFound"}, b""
            revision, _, folder = revision.partition("/") if tree else (revision, "", "")
            commit = self.references.get((repository, revision or "main"))
            if commit is None:
                return 404, {"X-Error-Code": "RevisionNotFound"}, b""
            if folder and not any(name.startswith(f"{folder}/") for name in self.commits[commit]):
                return 404, {"X-Error-Code": "EntryNotFound"}, b""
            siblings = [self._sibling(name, data) for name, data in sorted(self.commits[commit].items())]
            if tree:
                body = [
                    {"type": "file", "path": each["rfilename"], "oid": each["blobId"], "size": each["size"]}
                    for each in siblings
                ]
                return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()
            body = {"id": repository.removeprefix("datasets/"), "sha": commit, "siblings": siblings, "tags": []}
            return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()
        repository, _, rest = path.lstrip("/").partition("/resolve/")
        commit, _, name = rest.partition("/")
        commit = self.references[repository, commit]
        if name not in self.commits[commit]:
            return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, b""
        data = self.commits[commit][name]
        sibling = self._sibling(name, data)
        etag = sibling["lfs"]["sha256"] if "lfs" in sibling else sibling["blobId"]
        return 200, {"X-Repo-Commit": commit, "ETag": f'"{etag}"'}, data

    def write(self, path, body, address, token):
        """Status and JSON for a request that writes, as `create_repo` and `create_commit` make it."""
        if token != f"Bearer {self.token}":
            return 401, {"error": "Invalid username or password."}
        path = path.removeprefix("/api/").removeprefix("models/")
        if path == "repos/create":
            asked = json.loads(body)
            repository = "datasets/" * (asked["type"] == "dataset") + f"{asked['organization']}/{asked['name']}"
            known = repository in self.created
            self.created.setdefault(repository, asked)
            return 409 if known else 200, {"url": f"{address}/{repository}"}
        if path == "validate-yaml":
            return 200, {"errors": [], "warnings": []}
        repository, action, revision = path.rsplit("/", 2)
        if action == "branch":
            self.references.setdefault((repository, revision), self.references[repository, "main"])
            return 200, {}
        if action == "preupload":
            asked = json.loads(body)["files"]
            modes = [{"path": each["path"], "uploadMode": "regular", "shouldIgnore": False} for each in asked]
            return 200, {"files": modes}
        lines = [json.loads(line) for line in body.splitlines()]
        sent = {each["value"]["path"]: each["value"]["content"] for each in lines if each["key"] == "file"}
        before = self.commits.get(self.references.get((repository, revision)), {})
        files = before | {name: base64.b64decode(content) for name, content in sent.items()}
        commit = self.push(repository, files, revision)
        return 200, {"success": True, "commitUrl": f"{address}/{repository}/commit/{commit}", "commitOid": commit}

    @staticmethod
    def _sibling(name, data):
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        found = {"rfilename": name, "size": len(data), "blobId": blob}
        if name.endswith(STORED_APART):
            found["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return found

    @contextmanager
    def served(self):
        """Its address while it answers."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                status, headers, body = hub.answer(unquote(urlsplit(self.path).path))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                address, token = f"http://{self.headers['Host']}", self.headers["Authorization"]
                status, found = hub.write(unquote(urlsplit(self.path).path), body, address, token)
                found = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                self.wfile.write(found)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
