"""python3 interop.py MODE URL: see the modes at the end."""

import json
import os
import sys
import threading

from wire import SERVICES, answer, check, hello, notify, request

# Payloads that a JSON library would not give back as they are.
ODD = ['{"n":1e3,"big":9007199254740993,"n":1.50}', '{ "s" : "\\u0041\\ud800\\/" }', "[1,2 , 3]", '{"text":"ünïcödé 🙂\u2028"}']


def self_(url):
    """An owner, a caller and an observer of one process."""
    owner, caller, observer = (hello(url, f"{name}-{os.getpid()}") for name in ("owner", "caller", "observer"))
    snapshot = observer.result(1, "subscribe", {"channel": SERVICES})["snapshot"]
    check(snapshot["resource"] == SERVICES, snapshot)
    metadata = {"protocol": "self", "version": 1}
    service = owner.result("r", "client/registerService", {"channel": SERVICES, "metadata": metadata})["serviceId"]
    seen = observer.message()["params"]
    check(seen["action"] == {"type": "clientService/set", "service": {"serviceId": service, "clientId": f"owner-{os.getpid()}", "metadata": metadata}}, seen)
    check(seen["serverSeq"] > snapshot["fromSeq"], seen)

    head = f'"channel":"{SERVICES}","serviceId":"{service}","senderClientId":"caller-{os.getpid()}"'
    for params in ODD:
        caller.send(notify(service, "changed", params))
        owner.expect(f'{{"jsonrpc":"2.0","method":"clientService/notification","params":{{{head},"method":"changed","params":{params}}}}}')
    caller.quiet()  # a notification is never answered, not even one to nobody
    caller.send(notify("nobody", "m", "{}"), "{")
    check(caller.message()["error"]["code"] == -32700, "a line that is not JSON")

    for id, params in zip(["7", '"a\\u0062"', "1e3", "9007199254740993"], ODD):
        caller.send(request(id, service, "read", params))
        line = owner.line()
        relay_id = json.loads(line)["id"]
        check(type(relay_id) is int and 0 < relay_id < 1 << 53, line)
        check(line == f'{{"jsonrpc":"2.0","id":{relay_id},"method":"clientService/handleRequest","params":{{{head},"method":"read","params":{params},"timeoutMs":30000}}}}', line)
        owner.send(answer(relay_id, params))
        caller.expect(answer(id, params))

    caller.send(request(8, service, "block", "{}"))
    pending = owner.message()["id"]
    caller.send(f'{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"channel":"{SERVICES}","id":8}}}}')
    check(caller.message()["error"]["code"] == -32800, "cancelled")
    owner.expect(f'{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"channel":"{SERVICES}","id":{pending}}}}}')

    owner.close()
    gone = observer.message()["params"]
    check(gone["action"] == {"type": "clientService/removed", "serviceId": service} and gone["serverSeq"] > seen["serverSeq"], gone)
    caller.send(request(10, service, "m", "{}"))
    error = caller.message()["error"]
    check(error["code"] == -32008 and error["data"]["delivered"] == "never", error)
    caller.send(" " * (1 << 20) + "x")
    check(caller.message()["params"]["reason"] == "frameTooLarge", "a line that is too long")
    check(caller.line() is None, "the end")
    observer.close()


def offer(url):
    """A service that answers requests with their params, and "count" with the notifications so far."""
    owner = hello(url, f"offer-{os.getpid()}")
    owner.result("r", "client/registerService", {"channel": SERVICES, "metadata": {"protocol": "interop", "by": "python"}})
    print("ready", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    seen = 0
    while line := owner.line():
        message = json.loads(line)
        if message["method"] == "clientService/notification":
            seen += 1
        if message["method"] == "clientService/handleRequest":
            method = message["params"]["method"]
            params = line[line.index('"params":', line.index(f'"method":"{method}"')) + 9 : line.rindex(',"timeoutMs"')]
            owner.send(answer(message["id"], seen if method == "count" else params))


def use(url):
    """Finds the service of offer, whoever it is, and uses it."""
    caller = hello(url, f"use-{os.getpid()}")
    snapshot = caller.result("s", "subscribe", {"channel": SERVICES})["snapshot"]
    service = next(s["serviceId"] for s in snapshot["state"]["services"] if s["metadata"].get("protocol") == "interop")
    for params in ODD:
        caller.send(request("1", service, "echo", params))
        caller.expect(answer("1", params))
    count = lambda id: caller.result(id, "clientService/request", {"channel": SERVICES, "serviceId": service, "method": "count"})
    before = count(2)
    caller.send(*(notify(service, "n", f'{{"n":{n}}}') for n in range(500)))
    check(count(3) - before == 500, "notifications")
    caller.close()


if __name__ == "__main__":
    mode, url = sys.argv[1:]
    {"self": self_, "offer": offer, "use": use}[mode](url)
    print("ok")
