"""Worker processes with one store, chosen at random for each request."""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Iterable

import stores
from crew import Crew, Events, Refused, Session, crew
from peer import START_TIMEOUT, WAIT_TIMEOUT, Endpoint, Language, Message
from row import LONG_FORM, row

WORKERS = 4
ROUNDS = 40 if LONG_FORM else 8
# For a stopped redis-server: the connection is refused, so nothing waits for a deadline.
MAX_REFUSAL_TIME = 2
# Default deadline of a store call.
STORE_DEADLINE = 5
# A client's answers to the questions of "plan".
USER: Message = {"action": "accept", "content": {"people": 4}}
MODEL: Message = {"role": "assistant", "content": {"type": "text", "text": "Oslo"}, "model": "a-model"}
PROMPT: Message = {"name": "packing", "arguments": {"city": "Oslo"}}
TYPED: Message = {"ref": {"type": "ref/prompt", "name": "packing"}, "argument": {"name": "city", "value": "Os"}}
# How a connection ends when its process is killed.
GONE = (OSError, EOFError, ValueError)


def mood(number: int) -> str:
    return f"scars://mood/{number}"


def moods(numbers: Iterable[int]) -> set[str]:
    return {mood(number) for number in numbers}


async def heard(events: Events, missing: set[str]) -> None:
    """Waits until updates of these resources have arrived, and removes them."""
    while missing:
        message = await events.next()
        assert message["method"] == "notifications/resources/updated", message
        missing.discard(message["params"]["uri"])


async def every_feature(workers: Crew) -> int:
    """The number of requests of both eras, each answered by any worker."""
    asked = 0
    session = await workers.session()
    numbers = range(len(workers.workers))
    for uri in moods(numbers):
        await session.ask("resources/subscribe", {"uri": uri})
    # The stream is at one worker, and each worker has a change.
    stream = await session.stream()
    listening = await workers.listen(*moods(numbers))
    for number, worker in enumerate(workers.workers):
        await workers.touch(number, at=worker)
    await asyncio.gather(heard(stream, moods(numbers)), heard(listening, moods(numbers)))
    stream.close()
    listening.close()
    # Nobody reads, so the changes are queued.
    for number, worker in enumerate(workers.workers):
        await workers.touch(number, at=worker)
    again = await session.stream(last=stream.last)
    await heard(again, moods(numbers))
    again.close()
    for _ in range(ROUNDS):
        await workers.echo()
        answer = await session.ask("tools/call", {"name": "echo", "arguments": {"message": "legacy"}})
        assert answer["content"][0]["text"] == "legacy", answer
        asked += 2
    for _ in range(ROUNDS):
        await legacy_features(session)
        await modern_features(workers)
        asked += 16
    for worker in workers.workers:
        done = await workers.task_becomes(await workers.task(1, at=worker))
        assert done["result"]["content"][0]["text"] == "done", done
        cancelled = await workers.task(60_000, at=worker)
        await workers.modern("tasks/cancel", {"taskId": cancelled})
        assert (await workers.task_becomes(cancelled))["status"] == "cancelled"
        asked += 4
    with contextlib.suppress(Refused):
        await workers.modern("tasks/get", {"taskId": "a" * 22})
        raise AssertionError("a task that never was is known")
    return asked


async def legacy_features(session: Session) -> None:
    """Messages in both directions: those of a call come from its worker; answers may go to any."""
    _, planning = await session.call("plan", {})
    request = await planning.next()
    assert request["method"] == "elicitation/create", request
    await session.answer(request, USER)
    request = await planning.next()
    assert request["method"] == "sampling/createMessage", request
    await session.answer(request, MODEL)
    planned((await planning.next())["result"])
    planning.close()
    number, slow = await session.call("slow", {"ms": 60_000})
    assert (await slow.next())["method"] == "notifications/progress"
    await session.notify("notifications/cancelled", {"requestId": number})
    with contextlib.suppress(EOFError):
        raise AssertionError(f"it was cancelled at another worker, and sent {await slow.next()}")
    slow.close()
    for level, heard_of in (("error", False), ("info", True)):
        await session.ask("logging/setLevel", {"level": level})
        for worker in session.crew.workers:
            await tells_logs(session, worker, heard_of)
    prompt = await session.ask("prompts/get", PROMPT)
    assert prompt["messages"][0]["content"]["text"] == "What to pack for Oslo?", prompt
    completed = await session.ask("completion/complete", TYPED)
    assert completed["completion"]["values"] == ["Oslo", "Osaka"], completed
    read = await session.ask("resources/read", {"uri": mood(7)})
    assert read["contents"][0]["text"] == "7", read


async def tells_logs(session: Session, worker: Endpoint, expected: bool) -> None:
    """Waits until a worker sends log messages, or none: the level takes a moment to propagate."""
    for _ in range(WAIT_TIMEOUT * 50):
        try:
            _, flood = await session.call("flood", {"count": 1, "log": True}, at=worker)
        except Refused as answered:
            assert answered.status == 200, answered  # a result alone comes as JSON
            is_told = False
        else:
            message = await flood.next()
            assert (message["method"], message["params"]["data"]) == ("notifications/message", "a message"), message
            assert (await flood.next())["result"]["content"][0]["text"] == "done"
            flood.close()
            is_told = True
        if is_told == expected:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"log messages: {not expected}")


async def modern_features(workers: Crew) -> None:
    """The same, where each round of a call is a request to any worker."""
    call: Message = {"name": "plan", "arguments": {}}
    result = await workers.modern("tools/call", call)
    for answer in (USER, MODEL):
        assert result["resultType"] == "input_required", result
        answers = dict.fromkeys(result["inputRequests"], answer)
        result = await workers.modern(
            "tools/call", {**call, "inputResponses": answers, "requestState": result["requestState"]}
        )
    planned(result)
    prompt = await workers.modern("prompts/get", PROMPT)
    assert prompt["messages"][0]["content"]["text"] == "What to pack for Oslo?", prompt
    completed = await workers.modern("completion/complete", TYPED)
    assert completed["completion"]["values"] == ["Oslo", "Osaka"], completed
    read = await workers.modern("resources/read", {"uri": mood(7)})
    assert read["contents"][0]["text"] == "7", read


def planned(result: Message) -> None:
    assert result["content"][0]["text"] == "4 go to Oslo", result


@row("four workers with Redis, each request to a random one: wrong responses", 0, "answers", of_core=True)
async def workers_with_redis(language: Language) -> float:
    async with stores.redis() as redis, crew(language, redis.url, WORKERS) as workers:
        assert await every_feature(workers) > 0
        return 0


@row(
    "two workers with Redis over TLS, each request to a random one: wrong responses",
    0,
    "answers",
    of_core=True,
)
async def workers_with_tls(language: Language) -> float:
    async with stores.redis() as redis:
        async with crew(language, redis.tls_url, 2, SSL_CERT_FILE=str(stores.AUTHORITY)) as workers:
            assert await every_feature(workers) > 0
        # No trusted CA has signed the certificate.
        async with crew(language, redis.tls_url, 1) as workers:
            await refused(workers.session())
        return 0


@row(
    "two workers with a SQLite file, each request to a random one: wrong responses",
    0,
    "answers",
    of_core=True,
)
async def workers_with_sqlite(language: Language) -> float:
    async with stores.sqlite() as url, crew(language, url, 2) as workers:
        assert await every_feature(workers) > 0
        return 0


@row("a worker with an in-process store: wrong responses", 0, "answers")
async def worker_with_memory(language: Language) -> float:
    async with crew(language, "memory:", 1) as workers:
        assert await every_feature(workers) > 0
        return 0


class Load:
    """Bystanders that call any live worker and receive changes."""

    def __init__(self, workers: Crew, session: Session) -> None:
        self.workers = workers
        self.session = session
        self.answered = 0
        self.interrupted = 0
        self.slowest = 0.0
        self._over = False

    async def _call_on(self, legacy: bool) -> None:
        while not self._over:
            begin, worker = time.perf_counter(), self.workers.any()
            try:
                if legacy:
                    await self.session.ask("ping", {}, at=worker)
                else:
                    await self.workers.echo(at=worker)
                self.answered += 1
                self.slowest = max(self.slowest, time.perf_counter() - begin)
            except GONE:
                assert worker not in self.workers.workers, "a worker that lives gave no answer"
                self.interrupted += 1
            await asyncio.sleep(0.01)

    @contextlib.asynccontextmanager
    async def beside(self) -> AsyncGenerator[None]:
        """Calls while something else runs."""
        tasks = [asyncio.ensure_future(self._call_on(number % 2 == 0)) for number in range(4)]
        try:
            yield
        finally:
            self._over = True
            await asyncio.gather(*tasks)


async def interrupted_at(session: Session, call: Events) -> None:
    """The call of a worker that was killed fails at another, with the typed error."""
    with contextlib.suppress(*GONE):
        raise AssertionError(f"the killed worker has sent {await call.next()}")
    rest = await session.stream(last=call.last)
    answer = await rest.next()
    assert answer["error"]["data"] == {"reason": "interrupted"}, answer
    with contextlib.suppress(EOFError):
        raise AssertionError(f"after the answer came {await rest.next()}")


async def lost_with_a_worker(workers: Crew) -> int:
    """The tasks, events and sessions that are lost when the first worker is killed under load."""
    killed = workers.workers[0]
    session = await workers.session(at=killed)
    done = [await workers.task(1, at=killed) for _ in range(ROUNDS)]
    for task in done:
        await workers.task_becomes(task)
    running = await workers.task(60_000, at=killed)
    again = [await workers.task(3000, tool="again", at=killed) for _ in range(ROUNDS)]
    _, call = await session.call("slow", {"ms": 60_000}, at=killed)
    assert (await call.next())["method"] == "notifications/progress"
    for uri in moods(range(ROUNDS)):
        await session.ask("resources/subscribe", {"uri": uri})
    # The client is connected to the worker that is killed, and has read the first event.
    stream = await session.stream(at=killed)
    await workers.touch(0)
    await heard(stream, moods([0]))
    load = Load(workers, session)
    async with load.beside():
        before = load.answered
        while load.answered < before + 20:
            await asyncio.sleep(0.01)
        await workers.kill(killed)
        for number in range(1, ROUNDS):
            await workers.touch(number)
        unheard = moods(range(1, ROUNDS))
        with contextlib.suppress(*GONE):
            await heard(stream, unheard)
        rest = await session.stream(last=stream.last)
        await heard(rest, unheard)
        rest.close()
        await interrupted_at(session, call)
        before = load.answered
        while load.answered < before + 20:
            await asyncio.sleep(0.01)
    assert load.slowest < WAIT_TIMEOUT and load.answered > 40, (load.slowest, load.answered)
    lost = 0
    for task in done:
        lost += (await workers.task_becomes(task))["status"] != "completed"
    # Its lease has expired.
    failed = await workers.task_becomes(running)
    assert failed["status"] == "failed" and failed["error"]["code"] == -32603, failed
    for task in again:
        lost += (await workers.task_becomes(task))["status"] != "completed"
    return lost


@row(
    "a worker of four is killed under load: tasks, events and sessions that are lost",
    0,
    "of them",
    of_core=True,
)
async def worker_killed(language: Language) -> float:
    async with stores.redis() as redis, crew(language, redis.url, WORKERS) as workers:
        return await lost_with_a_worker(workers)


@row("a worker of two with a SQLite file is killed under load: what is lost", 0, "of it", of_core=True)
async def worker_killed_beside_sqlite(language: Language) -> float:
    async with stores.sqlite() as url, crew(language, url, 2) as workers:
        return await lost_with_a_worker(workers)


async def refused(asked: Awaitable[object]) -> float:
    """Seconds until a request was refused as busy."""
    begin = time.perf_counter()
    try:
        result = await asked
    except Refused as error:
        assert error.status == 503 or error.error.get("data", {}).get("reason") == "busy", error
        return time.perf_counter() - begin
    raise AssertionError(f"without its store it answered {result}")


@row("Redis is killed and started again: seconds until a client is refused", MAX_REFUSAL_TIME, "s", of_core=True)
async def redis_restarted(language: Language) -> float:
    async with stores.redis() as redis, crew(language, redis.url, WORKERS) as workers:
        home, *others = workers.workers
        session = await workers.session(at=home)
        await session.ask("resources/subscribe", {"uri": mood(1)}, at=home)
        stream = await session.stream(at=home)
        done = await workers.task(1, at=home)
        await workers.task_becomes(done)
        running = await workers.task(3000, at=home)
        await redis.stop()
        slowest = 0.0
        for worker in others:
            slowest = max(
                slowest,
                await refused(workers.session(at=worker)),
                await refused(session.ask("ping", {}, at=worker)),
                await refused(workers.modern("tasks/get", {"taskId": done}, at=worker)),
                await refused(workers.task(1, at=worker)),
            )
            await workers.echo(at=worker)
        # A worker that knows the session keeps serving it, and the change waits for the store.
        await session.ask("ping", {}, at=home)
        await workers.touch(1, at=others[0])
        await redis.start()
        end = time.monotonic() + WAIT_TIMEOUT
        for worker in workers.workers:
            while True:
                try:
                    await session.ask("ping", {}, at=worker)
                    await workers.modern("tasks/get", {"taskId": done}, at=worker)
                    break
                except Refused as error:
                    assert time.monotonic() < end, error
                    await asyncio.sleep(0.05)
        await heard(stream, moods([1]))
        for task in (done, running):
            assert (await workers.task_becomes(task))["status"] == "completed"
        assert (await workers.task_becomes(await workers.task(1)))["status"] == "completed"
        return slowest


@row("Redis is unreachable: seconds until a client is refused", MAX_REFUSAL_TIME, "s", of_core=True)
async def redis_missing(language: Language) -> float:
    async with crew(language, f"redis://user:secret@127.0.0.1:{stores.free_port()}", 1) as workers:
        slowest = 0.0
        for _ in range(3):
            slowest = max(slowest, await refused(workers.session()))
            slowest = max(slowest, await refused(workers.task(1)))
            await workers.echo()
        return slowest


@row("Redis is full: seconds until a client is refused", MAX_REFUSAL_TIME, "s", of_core=True)
async def redis_full(language: Language) -> float:
    async with stores.redis() as redis, crew(language, redis.url, 2) as workers:
        done = await workers.task(1)
        await workers.task_becomes(done)
        await redis.set_room(1)
        slowest = 0.0
        for _ in range(3):
            slowest = max(slowest, await refused(workers.task(1)), await refused(workers.session()))
        await workers.echo()
        # Existing state can be read.
        assert (await workers.modern("tasks/get", {"taskId": done}))["status"] == "completed"
        await redis.set_room(0)
        await back_in_service(workers)
        return slowest


@row(
    "Redis does not answer: seconds until a client is refused",
    STORE_DEADLINE + MAX_REFUSAL_TIME,
    "s",
    of_core=True,
)
async def redis_silent(language: Language) -> float:
    async with stores.redis() as redis, crew(language, redis.url, 2) as workers:
        await workers.task_becomes(await workers.task(1))
        redis.pause()
        slowest = 0.0
        for worker in workers.workers:
            slowest = max(slowest, await refused(workers.session(at=worker)))
            # One call at a time retries; the others are not delayed.
            waits = []
            for _ in range(3):
                begin = time.perf_counter()
                await workers.echo(at=worker)
                waits.append(time.perf_counter() - begin)
            # Other programs may delay one; the store would delay each.
            assert min(waits) < 1, "a call that needs no store waited for it"
        redis.resume()
        await back_in_service(workers)
        return slowest


async def back_in_service(workers: Crew) -> None:
    """Waits until each worker has a store again."""
    end = time.monotonic() + WAIT_TIMEOUT
    for worker in workers.workers:
        while True:
            try:
                assert (await workers.task_becomes(await workers.task(1, at=worker)))["status"] == "completed"
                await workers.session(at=worker)
                break
            except Refused as error:
                assert time.monotonic() < end, error
                await asyncio.sleep(0.05)


@row("the disk of a SQLite file is full: seconds until a client is refused", MAX_REFUSAL_TIME, "s", of_core=True)
async def disk_full(language: Language) -> float:
    async with stores.disk() as disk, crew(language, disk.url, 2, **disk.variables) as workers:
        home, other = workers.workers
        session = await workers.session(at=home)
        await session.ask("resources/subscribe", {"uri": mood(1)}, at=home)
        stream = await session.stream(at=home)
        done = await workers.task(1, at=home)
        await workers.task_becomes(done)
        running = await workers.task(3000, at=home)
        disk.fill()
        slowest = 0.0
        for worker in (home, other):
            for _ in range(3):
                slowest = max(slowest, await refused(workers.task(1, at=worker)))
                slowest = max(slowest, await refused(workers.session(at=worker)))
            await workers.echo(at=worker)
            # Existing state can be read.
            assert (await workers.modern("tasks/get", {"taskId": done}, at=worker))["status"] == "completed"
        await session.ask("ping", {}, at=home)
        await workers.touch(1, at=home)
        disk.make_room()
        await back_in_service(workers)
        await heard(stream, moods([1]))
        for task in (done, running):
            assert (await workers.task_becomes(task))["status"] == "completed"
        return slowest


@row("URLs that name no store: programs that start", 0, "programs", of_core=True)
async def wrong_urls(language: Language) -> float:
    started = 0
    for url, part in [("mysql://user:secret@host/x", "redis://HOST:PORT"), ("sqlite:", "path of the file is missing")]:
        with tempfile.TemporaryFile() as told:
            process = await asyncio.create_subprocess_exec(
                *language.command, "http", stdout=told, stderr=told, env={**os.environ, "STORE": url}
            )
            try:
                status = await asyncio.wait_for(process.wait(), START_TIMEOUT)
            except asyncio.TimeoutError:
                process.kill()
                await process.wait()
                started += 1
                continue
            told.seek(0)
            text = told.read().decode(errors="replace")
            assert status != 0 and part in text and "secret" not in text, (status, text[-400:])
    return started
