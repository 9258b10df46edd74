"""Clients of a scorer, played by coroutines over raw sockets; and requests that are broken in many ways, by a seed."""

import asyncio
import json
import random
import signal
import string
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

# Seconds for an answer, before a server counts as hanging; and before a client gives up that has not sent all.
PATIENCE, SHORT = 20.0, 0.2


class Server:
    """A scorer in a process of its own."""

    def __init__(self, model: Path, *options: str) -> None:
        command = [sys.executable, "-m", "sepc", "serve", str(model), "--port", "0", "--json", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            if not line:
                self.process.communicate()
                raise RuntimeError("the server did not start")
            said += line
        self.port = int(json.loads(said)["url"].rpartition(":")[2])

    def megabytes(self) -> float:
        """Return its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that it has spent."""
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / 100

    def end(self) -> int:
        """End it as a service manager does; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode


def request(path: str, body: bytes, kind: str = "application/json", **more: str) -> bytes:
    """Return the bytes of a request; headers have _ in place of -."""
    headers = {"host": "127.0.0.1", "content-type": kind, "content-length": str(len(body)), **more}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, bytes, bool]:
    """Return status and body of an answer, and whether the connection stays."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status = int(head[9:12])
    size = int(head.partition(b"\ncontent-length:")[2].partition(b"\r\n")[0] or 0)
    return status, await reader.readexactly(size), b"connection: close" not in head


async def _client(port: int, requests: list[bytes], start: int, until: Callable[[], bool], spent: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    k = start
    while not until():
        began = time.perf_counter()
        writer.write(requests[k % len(requests)])
        status, body, _ = await answer_of(reader)
        assert status == 200, body[:300]
        spent.append(time.perf_counter() - began)
        k += 1
    await _closed(writer)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def load(port: int, requests: list[bytes], n_clients: int, seconds: float) -> list[float]:
    """Send requests by several clients at once, each after the answer to its last; return the seconds of all."""

    async def everyone() -> list[float]:
        ends, spent = time.perf_counter() + seconds, list[float]()
        until = lambda: time.perf_counter() > ends  # noqa: E731
        clients = (_client(port, requests, 37 * k, until, spent) for k in range(n_clients))
        await asyncio.gather(*clients)
        return spent

    return asyncio.run(everyone())


def broken(
    port: int, requests: Iterator[tuple[bytes, bool]], n: int, n_clients: int = 8
) -> tuple[Counter[str], list[bytes]]:
    """Send n requests as they are; return the answers by status, and the requests without any or with a 500."""
    counts, bad = Counter[str](), list[bytes]()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes, is_whole: bool) -> bool:
        try:
            writer.write(sent)
            async with asyncio.timeout(PATIENCE if is_whole else SHORT):
                await writer.drain()
                status, _, stays = await answer_of(reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            counts["closed without an answer"] += 1
            return False
        except TimeoutError:
            counts["hung" if is_whole else "not sent to its end"] += 1
            bad.extend([sent] * is_whole)
            return False
        counts[str(status)] += 1
        if status == 500:
            bad.append(sent)
        return stays and is_whole

    async def client(mine: list[tuple[bytes, bool]]) -> None:
        stream = None
        for sent, is_whole in mine:
            if stream is None:
                stream = await asyncio.open_connection("127.0.0.1", port)
            if not await one(*stream, sent, is_whole) or random.Random(sent).random() < 0.2:
                await _closed(stream[1])
                stream = None
        if stream is not None:
            await _closed(stream[1])

    async def everyone() -> None:
        every = [next(requests) for _ in range(n)]
        await asyncio.gather(*(client(every[k::n_clients]) for k in range(n_clients)))

    asyncio.run(everyone())
    return counts, bad


class Fuzz:
    """Requests that are broken in many ways; each is one, or the beginning of one that does not go on."""

    PATHS = (
        "/predict",
        "/explain",
        "/v2/models/model/infer",
        "/model",
        "/metrics",
        "/openapi.json",
        "/reload",
        "/nowhere",
    )

    def __init__(self, columns: list[str], record: dict[str, object], seed: int = 0) -> None:
        self.columns, self.record, self.chance = columns, record, random.Random(seed)

    def __iter__(self) -> Iterator[tuple[bytes, bool]]:
        """Yield requests without end, and whether a server can know where they end."""
        whole = [self._values, self._nested, self._bytes, self._csv, self._tensors]
        while True:
            make = self.chance.choice([*whole, self._cut, self._headers])
            yield make(), make in whole

    def _value(self) -> object:
        chance = self.chance
        return chance.choice(
            [
                None,
                True,
                float("nan"),
                float("inf"),
                -1e308,
                10 ** chance.randint(1, 4000),
                -(2**63),
                chance.random(),
                "",
                " NA ",
                "1,5",
                "1.5e3",
                "\x00",
                "\ud800",
                "é中\u202e🙂" * chance.randint(1, 50),
                "=1+1",
                [],
                [1.0],
                {},
                {"a": [1]},
                "x" * chance.randint(1, 5000),
                "".join(chance.choices(string.printable, k=9)),
            ]
        )

    def _values(self) -> bytes:
        records = [dict(self.record) for _ in range(self.chance.randint(0, 5))]
        for record in records:
            for name in self.chance.sample([*self.columns, "é", "", "\ud800", "x" * 300], 3):
                record[name] = self._value()
            if self.chance.random() < 0.2:
                record.pop(self.chance.choice(self.columns), None)
        body = self.chance.choice(
            [
                records,
                {"records": records},
                {"columns": {name: [record.get(name) for record in records] for name in self.columns}},
                {"columns": {name: self._value() for name in self.columns}},
                {"names": self.columns, "rows": [list(record.values()) for record in records]},
                {"names": [self._value(), "é"], "rows": [[1], {}, 3]},
                {"records": self._value()},
                self._value(),
                [self._value()],
            ]
        )
        return self._json(body)

    def _json(self, body: object, path: str | None = None) -> bytes:
        text = json.dumps(body, ensure_ascii=self.chance.random() < 0.5)
        path = path or self.chance.choice(self.PATHS[:3])
        return request(path, text.encode(errors="surrogatepass"), **self._more())

    def _more(self) -> dict[str, str]:
        odd = {
            "accept": self.chance.choice(["text/csv", "*/*", "application/json;q=0.1", "\xe9", "a" * 500]),
            "accept_encoding": "gzip",
            "x_" + "y" * self.chance.randint(1, 200): "z",
            "inference_header_content_length": self.chance.choice(["0", "-1", "9" * 30, "x", "10", "²"]),
            "expect": "200-maybe",
            "cookie": "=;=;\x7f",
        }
        return dict(self.chance.sample(sorted(odd.items()), self.chance.choice([0, 0, 1, 2])))

    def _nested(self) -> bytes:
        depth = self.chance.choice([10, 1000, 100_000])
        begin, end = self.chance.choice([("[", "]"), ('{"records":', "}"), ('[{"a":', "}]")])
        body = begin * depth + self.chance.choice(["", "1"]) + end * self.chance.choice([depth, 0])
        return request(self.chance.choice(self.PATHS[:3]), body.encode())

    def _bytes(self) -> bytes:
        body = self.chance.randbytes(self.chance.randint(0, 3000))
        kinds = "application/json", "text/csv", "application/octet-stream", "", "text/csv; charset=x", "x" * 100
        return request(self.chance.choice(self.PATHS), body, self.chance.choice(kinds), **self._more())

    def _csv(self) -> bytes:
        names = self.chance.sample(self.columns, len(self.columns) - self.chance.choice([0, 0, 0, 1]))
        between, end = (
            self.chance.choice([",", ";", "\t", "|", '","']),
            self.chance.choice(["\n", "\r\n", "\r", "\n\n"]),
        )
        lines = [names]
        for _ in range(self.chance.randint(0, 4)):
            lines.append([str(self.record[name]) for name in names])
            if self.chance.random() < 0.6:
                lines[-1][self.chance.randrange(len(names))] = str(self._value())
            if self.chance.random() < 0.2:
                lines[-1].append('"')
        text = end.join(between.join(line) for line in lines).encode(errors="surrogatepass")
        if self.chance.random() < 0.2:
            place = self.chance.randrange(len(text) + 1)
            text = text[:place] + self.chance.choice([b"\xff", b"\x00", b"\xef\xbb\xbf", b'"']) + text[place:]
        return request(self.chance.choice(self.PATHS[:2]), text, "text/csv", **self._more())

    def _tensors(self) -> bytes:
        chance, d = self.chance, len(self.columns)
        kinds = "FP64", "FP32", "FP16", "INT8", "INT64", "UINT64", "BOOL", "BYTES", "X", None
        kind, n = chance.choice(kinds), chance.choice([0, 1, 2, d])
        tensor: dict[str, object] = {
            "name": chance.choice(["x", self.columns[0], "é", 1]),
            "shape": chance.choice(
                [[n, d], [n], [1, d], [d], [-1, d], [2**50, 2], [], "x", [1.5], [True, d], [1, 1, 1]]
            ),
            "datatype": kind,
            "data": chance.choice(
                [[0.5] * d, [[0.5] * d], ["a"] * d, [1] * d, [True] * d, [[1], [1, 2]], self._value()]
            ),
        }
        behind = b""
        if chance.random() < 0.5:
            behind = chance.randbytes(chance.choice([0, 4, 8 * d, 8 * d + 1]))
            tensor["parameters"] = {"binary_data_size": chance.choice([len(behind), -1, 2**60, "8", None, 3])}
        body = {"inputs": chance.choice([[tensor], [tensor, tensor], tensor, [], [1], None])}
        if chance.random() < 0.3:
            body["outputs"] = chance.choice([[{"name": "label"}], [{"name": "no"}], [1], {}, [], self._value()])
        text = json.dumps(body).encode()
        length = {"inference_header_content_length": str(len(text) + chance.choice([0, 0, 0, 1, -1]))} if behind else {}
        return request(self.PATHS[2], text + behind, **length)

    def _cut(self) -> bytes:
        whole = self._json([self.record])
        place = self.chance.randrange(len(whole))
        changed = bytearray(whole)
        changed[place] = self.chance.randrange(256)
        return self.chance.choice([bytes(changed), whole[:place] + b"\r\n\r\n" + b" " * 8])

    def _headers(self) -> bytes:
        chance, body = self.chance, json.dumps([self.record]).encode()
        lengths = [str(len(body)), "-1", "x", "1e3", str(2**70), str(len(body) - 1), str(len(body)) + ", 5"]
        first = chance.choice(
            ["POST /predict HTTP/1.1", "post /predict HTTP/1.1", "POST /predict HTTP/9.9", "POST  /x", "GET"]
        )
        lines = [
            first,
            f"content-length: {chance.choice(lengths)}",
            f"host: {chance.choice(['127.0.0.1', 'evil', '', '[::1'])}",
        ]
        if chance.random() < 0.3:
            lines[1] = "transfer-encoding: chunked"
            size = chance.choice([f"{len(body):x}", "0", "fffffffff", "-1", "zz"])
            body = f"{size}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        if chance.random() < 0.3:
            lines.append(
                chance.choice(["no colon", " folded: x", "a" * 70_000 + ": b", "x: \x00", "content-length: 5"])
            )
        return "\r\n".join([*lines, "", ""]).encode() + body
