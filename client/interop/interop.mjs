// node interop.mjs MODE URL: see the modes at the end.
import assert from "node:assert/strict";
import { answer, hello, notify, request, services } from "./wire.mjs";

const [mode, url] = process.argv.slice(2);

// Payloads that a JSON library would not give back as they are.
const odd = ['{"n":1e3,"big":9007199254740993,"n":1.50}', '{ "s" : "\\u0041\\ud800\\/" }', '[1,2 , 3]', '{"text":"ünïcödé 🙂\u2028"}'];

/** self: an owner, a caller and an observer of one process. */
async function self() {
  const [owner, caller, observer] = await Promise.all(["owner", "caller", "observer"].map((name) => hello(url, name + "-" + process.pid)));
  const snapshot = (await observer.result(1, "subscribe", { channel: services })).snapshot;
  assert.equal(snapshot.resource, services);
  const { serviceId } = await owner.result("r", "client/registerService", { channel: services, metadata: { protocol: "self", version: 1 } });
  const set = JSON.parse(await observer.line());
  assert.deepEqual(set.params.action, { type: "clientService/set", service: { serviceId, clientId: "owner-" + process.pid, metadata: { protocol: "self", version: 1 } } });
  assert.ok(set.params.serverSeq > snapshot.fromSeq);

  const sender = `"senderClientId":"caller-${process.pid}"`;
  const head = `"channel":"${services}","serviceId":"${serviceId}",${sender}`;
  for (const params of odd) {
    caller.send(notify(serviceId, "changed", params));
    await owner.expect(`{"jsonrpc":"2.0","method":"clientService/notification","params":{${head},"method":"changed","params":${params}}}`);
  }
  await caller.quiet(); // a notification is never answered, not even one to nobody
  caller.send(notify("nobody", "m", "{}"), notify(serviceId, "m", "{"));
  assert.equal(JSON.parse(await caller.line()).error.code, -32700);

  for (const [i, id] of ['7', '"a\\u0062"', "1e3", "9007199254740993"].entries()) {
    caller.send(request(id, serviceId, "read", odd[i]));
    const line = await owner.line();
    const relayId = JSON.parse(line).id;
    assert.ok(Number.isSafeInteger(relayId) && relayId > 0);
    assert.equal(line, `{"jsonrpc":"2.0","id":${relayId},"method":"clientService/handleRequest","params":{${head},"method":"read","params":${odd[i]},"timeoutMs":30000}}`);
    owner.send(answer(relayId, odd[i]));
    await caller.expect(answer(id, odd[i]));
  }
  caller.send(request(8, serviceId, "block", "{}"));
  const pending = JSON.parse(await owner.line()).id;
  caller.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"${services}","id":8}}`);
  assert.equal(JSON.parse(await caller.line()).error.code, -32800);
  await owner.expect(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"${services}","id":${pending}}}`);

  const long = JSON.stringify({ x: "x".repeat(900_000) });
  caller.send(request(9, serviceId, "long", long));
  const asked = JSON.parse(await owner.line());
  assert.equal(asked.params.params.x.length, 900_000);
  owner.send(answer(asked.id, long));
  await caller.expect(answer(9, long));

  if (owner.ping) {
    owner.ping("are you there");
    await owner.expect("pong are you there");
  }
  owner.close();
  await owner.end();
  if (owner.closed) assert.equal(owner.closed.code, 1005); // no code in, none out
  const removed = JSON.parse(await observer.line());
  assert.deepEqual(removed.params.action, { type: "clientService/removed", serviceId });
  assert.ok(removed.params.serverSeq > set.params.serverSeq);
  caller.send(request(10, serviceId, "m", "{}"));
  const gone = JSON.parse(await caller.line());
  assert.equal(gone.error.code, -32008);
  assert.equal(gone.error.data.delivered, "never");
  caller.send("x".repeat(1 << 21));
  assert.equal(JSON.parse(await caller.line()).params.reason, "frameTooLarge");
  await caller.end();
  if (caller.closed) assert.deepEqual(caller.closed, { code: 1009, reason: "frameTooLarge" });
  observer.close();
}

/** offer: a service that answers requests with their params, and "count" with the notifications so far. */
async function offer() {
  const owner = await hello(url, "offer-" + process.pid);
  await owner.result("r", "client/registerService", { channel: services, metadata: { protocol: "interop", by: "node" } });
  process.stdout.write("ready\n");
  process.stdin.once("end", () => process.exit(0)).resume();
  for (let seen = 0; ; ) {
    const line = await owner.line();
    const message = JSON.parse(line);
    if (message.method === "clientService/notification") seen++;
    if (message.method !== "clientService/handleRequest") continue;
    const params = line.slice(line.indexOf('"params":', line.indexOf('"method":"' + message.params.method)) + 9, line.lastIndexOf(',"timeoutMs"'));
    owner.send(answer(message.id, message.params.method === "count" ? seen : params));
  }
}

/** use: finds the service of offer, whoever it is, and uses it. */
async function use() {
  const caller = await hello(url, "use-" + process.pid);
  const { snapshot } = await caller.result("s", "subscribe", { channel: services });
  const found = snapshot.state.services.find((service) => service.metadata.protocol === "interop");
  assert.ok(found, JSON.stringify(snapshot));
  for (const params of odd) {
    caller.send(request("1", found.serviceId, "echo", params));
    await caller.expect(answer("1", params));
  }
  const count = (id) => caller.result(id, "clientService/request", { channel: services, serviceId: found.serviceId, method: "count" });
  const before = await count(2);
  for (let n = 0; n < 500; n++) caller.send(notify(found.serviceId, "n", `{"n":${n}}`));
  assert.equal((await count(3)) - before, 500);
  caller.close();
}

const modes = { self, offer, use };
await modes[mode]();
if (mode !== "offer") console.log("ok");
